/**
 * The complete nginx.conf, which configures a whole nginx: its limits begin with the TLS handshake,
 * and every host name belongs to the API. It has the same text as the files in operations/nginx/.
 */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import { expect, test } from 'vitest';
import { makeFolder, ROOT } from '#test/support/product.ts';
import { openTls, SERVER_NAME, sendPlain, startNginx } from '#test/support/servers/nginx.ts';
import { freePort } from '#test/support/servers/ports.ts';
import { readToEnd } from '#test/support/servers/sockets.ts';

const HEAD = `GET /api/v1/stats HTTP/1.1\r\nHost: ${SERVER_NAME}\r\n`;

// The API is not running here.
const nginx = await startNginx(await freePort());

function readConfiguration(file: string): string {
  return readFileSync(path.join(ROOT, file), 'utf8');
}

/** A file of operations/nginx/ without its first comment, indented by some tabs. */
function part(name: string, tabs: number): string {
  const text = readConfiguration(`operations/nginx/cover-catalogue-${name}.conf`);
  return text
    .replace(/^(?:#.*\n)+\n/, '')
    .trimEnd()
    .replaceAll(/^(?=.)/gm, '\t'.repeat(tabs));
}

test('nginx.conf has the same text as the files in operations/nginx/', () => {
  const site = part('site', 1)
    // The complete file has the settings once for all server blocks.
    .replaceAll('\t\tinclude snippets/cover-catalogue-settings.conf;\n', '')
    .replace('\t\tinclude snippets/cover-catalogue-locations.conf;', () => part('locations', 2))
    // No other site shares the port.
    .replaceAll(/ ssl;$/gm, ' ssl http2;');
  const blocks = [part('upstream', 1), part('settings', 1), site].join('\n\n');
  const [, http] = readConfiguration('nginx.conf').split('\nhttp {\n');
  expect(http).toBe(`${blocks}\n}\n`);
});

test.each([
  ['HTTP on the port of HTTPS', () => connect(nginx.httpsPort, '127.0.0.1'), HEAD, 'Use https'],
  ['a request without a host', () => openTls(nginx), HEAD.replace(/Host.*\r\n/, ''), 'Bad request'],
] as const)('%s gets a JSON error', async (_, open, head, error) => {
  const socket = await open();
  socket.write(`${head}\r\n`);
  const [fields = '', body] = (await readToEnd(socket)).split('\r\n\r\n');
  expect(fields).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
  expect(body).toBe(JSON.stringify({ error }));
});

test('the HTTP port redirects to the host name of the API for any Host of the request', async () => {
  const reply = await sendPlain(nginx.httpPort, '//docs?q=%2F', { name: 'evil.example' });
  expect([reply.status, reply.headers.location]).toEqual([
    308,
    `https://${SERVER_NAME}//docs?q=%2F`,
  ]);
  expect(reply.headers['strict-transport-security']).toBeUndefined();
});

test('the HTTP port serves what certbot writes to renew the certificate, and nothing else', async () => {
  const webRoot = makeFolder();
  const challenges = path.join(webRoot, '.well-known/acme-challenge');
  mkdirSync(challenges, { recursive: true });
  // nginx reads it as www-data.
  chmodSync(webRoot, 0o755);
  writeFileSync(path.join(challenges, 'token'), 'proof');
  writeFileSync(path.join(webRoot, 'index.html'), 'secret');
  const front = await startNginx(await freePort(), [['root /var/www/html;', `root ${webRoot};`]]);
  const get = (target: string) => sendPlain(front.httpPort, target, { name: SERVER_NAME });
  const found = await get('/.well-known/acme-challenge/token');
  expect([found.status, found.text]).toEqual([200, 'proof']);
  expect((await get('/.well-known/acme-challenge/other')).status).toBe(404);
  for (const target of ['/', '/index.html', '/.well-known/acme-challenge/../../index.html']) {
    expect((await get(target)).status, target).toBe(308);
  }
  await front.stop();
});

test('connections use TLS 1.2 or 1.3, no older version', async () => {
  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    const socket = await openTls(nginx, { minVersion: version, maxVersion: version });
    expect(socket.getProtocol()).toBe(version);
    socket.destroy();
  }
  const old = openTls(nginx, {
    minVersion: 'TLSv1',
    maxVersion: 'TLSv1.1',
    ciphers: 'DEFAULT@SECLEVEL=0',
  });
  await expect(old).rejects.toMatchObject({ code: 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION' });
});

test('a client that sends no complete request head in time is disconnected', async () => {
  // Otherwise the test would wait for ten seconds.
  const front = await startNginx(await freePort(), [
    ['client_header_timeout 10s;', 'client_header_timeout 1s;'],
  ]);
  const begun = await openTls(front);
  begun.write(`${HEAD}X-Slow: `);
  const mute = connect(front.httpsPort, '127.0.0.1');
  const muteInTls = await openTls(front);
  expect(await Promise.all([begun, mute, muteInTls].map(readToEnd))).toEqual(['', '', '']);
  await front.stop();
});
