/** The account pages behind a real nginx with the project's own nginx.conf. */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { mailedLink, makeAccounts, openPages, PEOPLE, tokenOf } from '#test/support/account.ts';
import { makeDatabase } from '#test/support/databases.ts';
import { makeFolder } from '#test/support/product.ts';
import {
  type FrontReply,
  type RunningNginx,
  SERVER_NAME,
  sendHttp1,
  sendHttp2Once,
  startNginx,
} from '#test/support/servers/nginx.ts';
import { freePort } from '#test/support/servers/ports.ts';

const LARGEST = 64 * 1024;

/** The change of nginx.conf for account pages on another port. */
const pagesAt = (port: number) =>
  [['server 127.0.0.1:8081;', `server 127.0.0.1:${port};`]] as const;

let pages: Server;
let nginx: RunningNginx;
let received: { url: string; headers: IncomingMessage['headers']; length: number }[] = [];

beforeAll(async () => {
  pages = createServer(async (request, response) => {
    const { length } = Buffer.concat(await request.toArray());
    received.push({ url: request.url ?? '', headers: request.headers, length });
    response.end('the pages');
  });
  await new Promise<void>((resolve) => pages.listen(0, '127.0.0.1', resolve));
  const { port } = pages.address() as { port: number };
  // The API is not running here.
  nginx = await startNginx(await freePort(), pagesAt(port));
});

afterAll(async () => {
  await nginx?.stop();
  pages?.close();
});

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

test('the logs do not contain the token of a sign-in link', async () => {
  await sendHttp1(nginx, '/account/sign-in/link?token=of-a-link');
  expect(JSON.stringify(nginx.logs())).not.toContain('of-a-link');
});

test('a user can sign in and request a key over HTTP/2, with cookies for TLS only', async () => {
  const databaseUrl = await makeDatabase('sqlite');
  await makeAccounts(databaseUrl);
  const mailFolder = makeFolder();
  const origin = `https://${SERVER_NAME}`;
  const real = await openPages(databaseUrl, { MAIL_FOLDER: mailFolder, PUBLIC_URL: origin });
  const front = await startNginx(await freePort(), pagesAt(real.port));
  const cookies = new Map<string, string>([['of_the_site', '1']]);
  let token = '';
  async function visit(path: string, fields?: Record<string, string>): Promise<FrontReply> {
    const body = fields && new URLSearchParams({ token, ...fields }).toString();
    const reply = await sendHttp2Once(front, path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        // Over HTTP/2, browsers send each cookie in a separate field.
        cookie: [...cookies].map((pair) => pair.join('=')),
        ...(body && { 'content-type': 'application/x-www-form-urlencoded', origin }),
      },
      ...(body && { body }),
    });
    const set = (reply.headers as Record<string, unknown>)['set-cookie'] as string[] | undefined;
    for (const line of set ?? []) {
      expect(line).toMatch(
        /^__Host-\w+=[^;]*; Max-Age=\d+; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
      );
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    expect(reply.headers['strict-transport-security']).toBeDefined();
    expect(reply.headers['access-control-allow-origin']).toBeUndefined();
    token = /name="token" value="([^"]*)"/.exec(reply.text)?.[1] ?? token;
    return reply;
  }
  await visit('/account/sign-in');
  expect((await visit('/account/sign-in', { email: PEOPLE.owner.email })).status).toBe(200);
  const link = await mailedLink(PEOPLE.owner.email, mailFolder);
  await visit(link);
  expect((await visit('/account/sign-in/link', { link: tokenOf(link) })).status).toBe(303);
  expect((await visit('/account/api-keys')).text).toContain(PEOPLE.owner.name);
  const fields = { purpose: 'é'.repeat(5000), website_url: 'https://a.example' };
  const requested = await visit('/account/api-keys', fields);
  expect([requested.status, requested.headers.location]).toEqual([
    303,
    '/account/api-keys?done=requested',
  ]);
  expect((await visit('/account/account.css')).headers['content-type']).toContain('text/css');
  expect((await visit('/account/api-keys')).text).toContain('Waiting for review');
  await front.stop();
  await real.stop();
});

test('nginx answers 502 when the account pages do not run', async () => {
  const alone = await startNginx(await freePort(), pagesAt(await freePort()));
  const reply = await sendHttp1(alone, '/account/api-keys');
  expect([reply.status, reply.text]).toEqual([502, '{"error":"Bad gateway"}']);
  await alone.stop();
});
