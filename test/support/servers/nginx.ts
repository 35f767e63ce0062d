/**
 * A real nginx on loopback that runs the project's own nginx.conf. Only addresses and paths are replaced,
 * and each replacement must occur exactly as often as expected. nginx ends with the test file, or with
 * the process that started it.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request as requestPlain } from 'node:http';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { type RequestOptions, request as requestTls } from 'node:https';
import path from 'node:path';
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls';
import { atEndOfFile } from '#test/support/end-of-file.ts';
import { startTiedUntil } from '#test/support/processes.ts';
import { makeFolder, ROOT } from '#test/support/product.ts';
import { makeCertificate } from './certificate.ts';
import { freePort } from './ports.ts';

/** The host name in nginx.conf and in the certificate. */
export const SERVER_NAME = 'api.covers.example.org';
const CERTIFICATES = `/etc/letsencrypt/live/${SERVER_NAME}`;

export type RunningNginx = Awaited<ReturnType<typeof startNginx>>;

/** A text of the configuration, its replacement, and how often it occurs (by default once). */
export type Change = readonly [from: string, to: string, times?: number];

/**
 * Starts nginx and waits until it listens.
 * @param upstreamPort the port of the first proxy on 127.0.0.1
 * @param changes further replacements in the configuration
 * @param backupPort the port of the second proxy; by default nothing listens there
 */
export async function startNginx(
  upstreamPort: number,
  changes: readonly Change[] = [],
  { backupPort }: { backupPort?: number } = {},
) {
  const folder = makeFolder();
  const inFolder = (name: string) => path.join(folder, name);
  await makeCertificate(SERVER_NAME, inFolder('fullchain.pem'), inFolder('privkey.pem'));
  const ca = readFileSync(inFolder('fullchain.pem'), 'utf8');
  const [httpsPort, httpPort, unusedPort] = await Promise.all([freePort(), freePort(), freePort()]);
  const text = replaceIn(readFileSync(path.join(ROOT, 'nginx.conf'), 'utf8'), [
    ['\tlisten 443 ', `\tlisten 127.0.0.1:${httpsPort} `],
    // Not every machine has IPv6, so a second IPv4 address replaces it.
    ['\tlisten [::]:443 ', `\tlisten 127.0.0.2:${httpsPort} `],
    ['\tlisten 80;', `\tlisten 127.0.0.1:${httpPort};`],
    ['\tlisten [::]:80;', `\tlisten 127.0.0.2:${httpPort};`],
    [`${CERTIFICATES}/fullchain.pem;`, `${inFolder('fullchain.pem')};`],
    [`${CERTIFICATES}/privkey.pem;`, `${inFolder('privkey.pem')};`],
    ['server 127.0.0.1:8080 ', `server 127.0.0.1:${upstreamPort} `, 2],
    ['server 127.0.0.1:8082 ', `server 127.0.0.1:${backupPort ?? unusedPort} `],
    ['pid /run/nginx.pid;', `pid ${inFolder('nginx.pid')};`],
    ['/var/log/nginx/cover-catalogue-access.log', inFolder('access.log')],
    ['/var/log/nginx/error.log', inFolder('error.log')],
    ...changes,
  ]);
  const { stop, stderr } = await runNginx(folder, text);
  return {
    httpsPort,
    httpPort,
    /** The certificate, for clients to trust. */
    ca,
    /** Ends it. Its logs are then complete. */
    stop,
    /** Its log files and its stderr, by name. */
    logs(): Record<string, string> {
      const files = readdirSync(folder).filter((name) => name.endsWith('.log'));
      const texts = files.map((name) => [name, readFileSync(inFolder(name), 'utf8')] as const);
      return { ...Object.fromEntries(texts), stderr: stderr() };
    },
  };
}

/**
 * Runs nginx on a folder and waits until it listens.
 * @param configuration without the folders for temporary files: Debian's belong to root
 */
export async function runNginx(
  folder: string,
  configuration: string,
): Promise<{ stop(): Promise<void>; stderr(): string }> {
  const file = path.join(folder, 'nginx.conf');
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((kind) => `\t${kind}_temp_path ${path.join(folder, kind)};\n`)
    .join('');
  writeFileSync(file, replaceIn(configuration, [['\nhttp {\n', `\nhttp {\n${temporary}`]]));
  // On stderr, it reports its start, too.
  const options = ['-e', 'stderr', '-g', 'daemon off; error_log stderr notice;'];
  const command = ['nginx', '-p', folder, '-c', file, ...options];
  // It listens before it starts them.
  const server = await startTiedUntil('start worker processes', command);
  atEndOfFile(server.stop);
  return { stop: server.stop, stderr: server.printed };
}

/** @throws unless each text occurs as often as its change says */
function replaceIn(text: string, changes: readonly Change[]): string {
  let changed = text;
  for (const [from, to, expected = 1] of changes) {
    const parts = changed.split(from);
    const times = parts.length - 1;
    if (times !== expected) throw new Error(`The configuration has "${from}" ${times} times`);
    changed = parts.join(to);
  }
  return changed;
}

export interface FrontReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
  readonly text: string;
}

export interface FrontRequest {
  readonly method?: string;
  readonly headers?: Record<string, string | string[]>;
  /** The client's address on loopback. */
  readonly from?: string;
  /** The host name of the request. */
  readonly name?: string;
  readonly body?: string;
}

/** Sends one request over HTTP/1.1 and TLS, on a new connection. */
export function sendHttp1(
  { httpsPort, ca }: Pick<RunningNginx, 'httpsPort' | 'ca'>,
  target: string,
  { from = '127.0.0.1', name = SERVER_NAME, ...options }: FrontRequest = {},
): Promise<FrontReply> {
  const tls = { port: httpsPort, ca, servername: name, localAddress: from };
  return sendOver(requestTls, tls, target, { name, ...options });
}

/** Sends one request over HTTP/1.1 without TLS, on a new connection. */
export function sendPlain(port: number, target: string, options: FrontRequest = {}) {
  return sendOver(requestPlain, { port }, target, options);
}

function sendOver(
  request: typeof requestTls,
  connection: RequestOptions,
  target: string,
  { method = 'GET', headers = {}, name, body }: FrontRequest,
): Promise<FrontReply> {
  // Node does not send the length of the body of a GET.
  const framing = body === undefined ? {} : { 'content-length': String(body.length) };
  const fields = { ...(name && { host: name }), ...framing, ...headers };
  const options = { host: '127.0.0.1', agent: false, maxHeaderSize: 65_536, ...connection };
  return new Promise((resolve, reject) => {
    const sent = request({ ...options, method, path: target, headers: fields }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part) => parts.push(part));
      response.once('error', reject);
      response.once('end', () =>
        resolve(replyOf(response.statusCode ?? 0, response.headers, Buffer.concat(parts))),
      );
    });
    sent.once('error', reject);
    sent.end(body);
  });
}

/** Opens an HTTP/2 connection. */
export async function openHttp2(
  { httpsPort, ca }: RunningNginx,
  settings: { initialWindowSize?: number } = {},
  from = '127.0.0.1',
): Promise<ClientHttp2Session> {
  const socket = await openTls({ httpsPort, ca }, { ALPNProtocols: ['h2'], localAddress: from });
  const session = connectHttp2(`https://${SERVER_NAME}`, {
    createConnection: () => socket,
    settings,
  });
  await new Promise((resolve, reject) => {
    session.once('remoteSettings', resolve);
    session.once('error', reject);
  });
  return session;
}

/** Sends one request on an HTTP/2 connection. */
export function sendHttp2(
  session: ClientHttp2Session,
  target: string,
  { method = 'GET', headers = {}, body }: FrontRequest = {},
): Promise<FrontReply> {
  return new Promise((resolve, reject) => {
    const stream = session.request(
      { ':method': method, ':path': target, ...headers },
      { endStream: body === undefined },
    );
    const parts: Buffer[] = [];
    let status = 0;
    let fields = {};
    stream.once('response', ({ ':status': code, ...rest }) => {
      status = Number(code);
      fields = rest;
    });
    stream.on('data', (part: Buffer) => parts.push(part));
    stream.once('error', reject);
    stream.once('end', () => resolve(replyOf(status, fields, Buffer.concat(parts))));
    if (body !== undefined) stream.end(body);
  });
}

/** Sends one request over HTTP/2, on a connection of its own. */
export async function sendHttp2Once(
  nginx: RunningNginx,
  target: string,
  options: FrontRequest = {},
): Promise<FrontReply> {
  const session = await openHttp2(nginx, {}, options.from);
  // The request fails as well.
  session.on('error', () => {});
  try {
    return await sendHttp2(session, target, options);
  } finally {
    session.destroy();
  }
}

/** Opens a TLS connection and waits for its handshake. */
export function openTls(
  { httpsPort, ca }: Pick<RunningNginx, 'httpsPort' | 'ca'>,
  options: ConnectionOptions & { localAddress?: string } = {},
): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connectTls(
      { host: '127.0.0.1', port: httpsPort, ca, servername: SERVER_NAME, ...options },
      () => resolve(socket),
    );
    socket.once('error', reject);
  });
}

function replyOf(status: number, headers: object, bytes: Buffer): FrontReply {
  return { status, headers: { ...headers } as Record<string, string>, bytes, text: `${bytes}` };
}
