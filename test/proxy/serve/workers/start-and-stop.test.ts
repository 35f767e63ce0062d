/**
 * The start and the end of the proxy. It answers 503 before the first generation. When it stops, it
 * first reports that it is not ready, then finishes requests under way, and does not wait forever.
 */
import { once } from 'node:events';
import { cpSync, rmSync } from 'node:fs';
import path from 'node:path';
import { pino } from 'pino';
import { expect, test, vi } from 'vitest';
import { compose, PROXY_VARIABLES } from '#cli/proxy.ts';
import { KEYS_FILE } from '#lib/format/layout.ts';
import { readEnvironment } from '#lib/program/environment/environment.ts';
import { closeServer } from '#lib/program/listen.ts';
import { assembleProxy } from '#proxy/assemble.ts';
import { HttpServer } from '#proxy/http/server.ts';
import { SERVING_VARIABLES } from '#proxy/serve/workers/serving-thread.ts';
import { makeSampleSnapshots } from '#test/catalogue/snapshots.ts';
import {
  makeFolder,
  NEVER,
  type RunningProxy,
  send,
  startLogged,
  startProxy,
  startProxyProgram,
  testKey,
  writeKeys,
} from '#test/support/product.ts';
import { listenOn, openSocket, readToEnd } from '#test/support/servers/sockets.ts';

const key = testKey(1);
const STATS = `GET /api/v1/stats HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${key.key}\r\n\r\n`;
const silent = pino({ level: 'silent' });
const LAST_BYTES = '\r\n\r\n';

/**
 * Opens a connection with a request under way, whose head is not complete. The response to the request
 * before it shows that the proxy has what was sent.
 */
async function beginRequest(port: number) {
  const socket = await openSocket(port);
  const received = readToEnd(socket);
  const answered = once(socket, 'data');
  socket.write(STATS + STATS.slice(0, -LAST_BYTES.length));
  await answered;
  return {
    /** Completes the request. @returns all that the proxy has sent until it closed the connection */
    complete() {
      socket.write(LAST_BYTES);
      return received;
    },
  };
}

const TWO_RESPONSES =
  /^HTTP\/1\.1 200 OK\r\n[\s\S]*\}HTTP\/1\.1 200 OK\r\n[\s\S]*Connection: close\r\n[\s\S]*\}$/i;

test('SIGTERM ends a proxy with 0 after the requests under way; further signals, and SIGHUP, have no effect', async () => {
  const proxy = await startProxyProgram(await makeSampleSnapshots([key]));
  proxy.child.kill('SIGHUP');
  const underWay = await beginRequest(proxy.port);
  const ended = proxy.stop();
  await proxy.logged('"msg":"stopping"');
  proxy.child.kill('SIGINT');
  proxy.child.kill('SIGTERM');
  expect(await underWay.complete()).toMatch(TWO_RESPONSES);
  expect(await ended).toBe(0);
  expect(proxy.log()).toContain('"msg":"stopped"');
});

test('SIGHUP does not end a proxy that starts', async () => {
  const variables = { SNAPSHOTS_DIR: makeFolder(), PUBLIC_URL: '', PORT: '0', ADMIN_PORT: '0' };
  const proxy = startLogged('proxy', [], variables);
  await proxy.logged('PUBLIC_URL is not set');
  proxy.child.kill('SIGHUP');
  await proxy.logged('"msg":"listening"');
  expect(await proxy.stop()).toBe(0);
});

test('a proxy without a site serves the API, and nothing else', async () => {
  const variables = { SNAPSHOTS_DIR: await makeSampleSnapshots([key]), PORT: '0', ADMIN_PORT: '0' };
  const settings = readEnvironment(SERVING_VARIABLES, variables);
  const composition = { startWorker: vi.fn() };
  const proxy = await assembleProxy(settings, silent, composition, { intervals: NEVER });
  const { api } = await proxy.start();
  const get = async (path: string) =>
    (await send(`http://${api}${path}`, { headers: { 'x-api-key': key.key } })).status;
  expect([await get('/api/v1/stats'), await get('/'), await get('/docs')]).toEqual([200, 404, 404]);
  await proxy.stop(async () => {});
});

test('a proxy that stops is not ready, but answers new connections until load balancers had time to notice', async () => {
  const variables = { SNAPSHOTS_DIR: await makeSampleSnapshots([key]), PORT: '0', ADMIN_PORT: '0' };
  const settings = readEnvironment(PROXY_VARIABLES, variables);
  const proxy = await assembleProxy(settings, silent, compose(settings), { intervals: NEVER });
  const { api, admin } = await proxy.start();
  const port = Number(api.split(':').at(-1));
  const url = `http://${api}/api/v1/stats`;
  const readyz = `http://${admin}/readyz`;
  expect((await send(readyz)).status).toBe(200);
  const underWay = await beginRequest(port);
  const notice = Promise.withResolvers<void>();
  const stopped = proxy.stop(() => notice.promise);
  const { status, json } = await send(readyz);
  expect([status, json.ready, json.stopping]).toEqual([503, false, true]);
  const reply = await send(url, { headers: { 'x-api-key': key.key } });
  expect([reply.status, reply.headers.connection]).toEqual([200, 'close']);
  notice.resolve();
  // In a later turn, the proxy no longer listens.
  await new Promise((resolve) => setImmediate(resolve));
  await expect(openSocket(port)).rejects.toThrow('ECONNREFUSED');
  expect(await underWay.complete()).toMatch(TWO_RESPONSES);
  await stopped;
});

test('clients that never finish, or never read, are cut at the deadline', async () => {
  const body = Buffer.alloc(64 * 1024 * 1024);
  const large = { status: 200, headers: `Content-Length: ${body.length}\r\n`, body };
  const http = new HttpServer((_, response) => response.send(large), vi.fn(), silent);
  const port = await listenOn(http.server);
  const unfinished = [];
  // The second head is read by Node's parser.
  for (const head of [STATS.slice(0, 20), `HEAD${STATS.slice(3, 20)}`]) {
    const socket = await openSocket(port);
    unfinished.push(readToEnd(socket));
    socket.write(head);
  }
  const deaf = await openSocket(port);
  deaf.on('error', () => {});
  deaf.write(STATS);
  await once(deaf, 'data');
  deaf.pause();
  await closeServer(http, 50);
  expect(await Promise.all(unfinished)).toEqual(['', '']);
  deaf.destroy();
});

async function expectStats(proxy: RunningProxy, status: number, error?: string): Promise<void> {
  const reply = await proxy.get('/stats', key.key);
  expect([reply.status, reply.json.error]).toEqual([status, error]);
  if (status === 503) expect(reply.headers['retry-after']).toMatch(/^[1-9]\d*$/);
  else expect(reply.headers['x-snapshot']).toBeDefined();
}

test('a proxy that starts before the first generation and the first keys answers 503 until it has them', async () => {
  const source = await makeSampleSnapshots();
  rmSync(path.join(source, KEYS_FILE), { force: true });
  const target = path.join(makeFolder(), 'snapshots');
  const proxy = await startProxy(target, {}, NEVER);
  await expectStats(proxy, 503, 'No snapshot yet');
  const early = await proxy.readyz();
  expect([early.status, early.json.ready, early.json.snapshot]).toEqual([503, false, null]);
  expect((await send(`${proxy.adminUrl}/healthz`)).status).toBe(200);

  cpSync(source, target, { recursive: true, verbatimSymlinks: true });
  await proxy.refresh();
  await expectStats(proxy, 503, 'No API keys yet');
  writeKeys(target, [key]);
  await proxy.refresh();
  await expectStats(proxy, 200);
  expect((await proxy.readyz()).status).toBe(200);
});
