/** The account pages behind a real nginx with the project's own nginx.conf. */
import { createServer, type IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { makeFolder, NEVER, startProxy } from '#test/support/product.ts';
import { sendHttp1, sendHttp2Once, startNginx } from '#test/support/servers/nginx.ts';
import { freePort } from '#test/support/servers/ports.ts';
import { listenOn } from '#test/support/servers/sockets.ts';

const LARGEST = 64 * 1024;

/** The change of nginx.conf for account pages on another port. */
const pagesAt = (port: number) =>
  [['server 127.0.0.1:8081;', `server 127.0.0.1:${port};`]] as const;

let received: { url: string; headers: IncomingMessage['headers']; length: number }[] = [];

const pages = createServer(async (request, response) => {
  const { length } = Buffer.concat(await request.toArray());
  received.push({ url: request.url ?? '', headers: request.headers, length });
  response.end('the pages');
});
// The API is not running here.
const nginx = await startNginx(await freePort(), pagesAt(await listenOn(pages)));

test('the account pages get requests without the proxy, with the true address, over HTTP/1.1 and HTTP/2', async () => {
  for (const path of ['/account', '/account/api-keys?a=%2e', '/moderation/api-keys/7']) {
    received = [];
    const headers = { 'x-forwarded-for': '10.9.9.9', forwarded: 'for=10.9.9.9' };
    expect((await sendHttp1(nginx, path, { headers, from: '127.0.0.3' })).text).toBe('the pages');
    expect((await sendHttp2Once(nginx, path)).text).toBe('the pages');
    expect(received.map(({ url }) => url)).toEqual([path, path]);
    expect(received[0]?.headers['x-forwarded-for']).toBe('127.0.0.3');
    expect(received[0]?.headers['x-forwarded-proto']).toBe('https');
    expect(received[0]?.headers.forwarded).toBeUndefined();
  }
});

test('the account pages accept forms of up to 64 KiB', async () => {
  const post = (bytes: number, headers = {}) =>
    sendHttp1(nginx, '/account/api-keys', { method: 'POST', headers, body: 'a'.repeat(bytes) });
  received = [];
  expect((await post(LARGEST)).status).toBe(200);
  expect(received[0]?.length).toBe(LARGEST);
  const refused = await post(LARGEST + 1);
  expect([refused.status, refused.text]).toEqual([413, '{"error":"The form is too large"}']);
  expect(refused.headers['strict-transport-security']).toBeDefined();
  expect(received.length).toBe(1);
});

test('similar paths go to the API, which accepts no body', async () => {
  for (const path of ['/accounts', '/api/v1/account', '/x/account']) {
    expect((await sendHttp1(nginx, path)).status).toBe(502);
    const reply = await sendHttp1(nginx, path, { method: 'POST', body: 'aa' });
    expect([reply.status, reply.text]).toEqual([400, '{"error":"A request must not have a body"}']);
  }
});

test('while the account pages do not run, the proxy says so: to browsers with a page, to programs as JSON', async () => {
  const proxy = await startProxy(makeFolder(), {}, NEVER);
  const alone = await startNginx(proxy.port, pagesAt(await freePort()));
  const page = await sendHttp1(alone, '/account/api-keys', { headers: { accept: 'text/html' } });
  expect([page.status, page.headers['retry-after']]).toEqual([503, '5']);
  expect(page.text).toContain('<h1>The account pages are not available</h1>');
  for (const options of [{}, { method: 'POST', body: 'purpose=x' }]) {
    const reply = await sendHttp1(alone, '/account/api-keys', options);
    expect(reply.text).toBe('{"error":"The account pages are not available"}');
  }
  await proxy.stop();
  const reply = await sendHttp1(alone, '/account/api-keys');
  expect([reply.status, reply.text]).toEqual([502, '{"error":"Bad gateway"}']);
  await alone.stop();
});
