/** Which forms the account pages accept, and their refusals, on a real server. */
import { once } from 'node:events';
import { request } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { Hono } from 'hono';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fieldOf, readForm } from '../../../keys/account/routes/forms.ts';
import type { PageEnv } from '../../../keys/account/routes/site.ts';
import { makeAccountServer } from '../../../keys/account/server.ts';
import { newConnectionCells } from '../../../program/connections.ts';

const FORM = 'application/x-www-form-urlencoded';
const HEADERS = { 'content-type': FORM };
const TOO_LARGE = 'A form can have at most 64 KiB. Nothing was changed.';
const TOKEN = 'the-token-of-the-visitor';
let form: URLSearchParams | undefined;
/** Resolves with the status of the response to a request. */
let answered = Promise.withResolvers<number>();

const app = new Hono<PageEnv>();
app.use(async (c, next) => {
  c.set('viewer', { account: undefined, token: TOKEN, hasSession: false });
  await next();
  answered.resolve(c.res.status);
});
app.post('/', readForm, (c) => {
  form = c.var.form;
  return c.text('accepted');
});
const server = makeAccountServer(app, newConnectionCells(), pino({ level: 'silent' }));
const portOf = () => (server.address() as AddressInfo).port;

beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

/** Posts a body: in two chunks if `isChunked`, else with a Content-Length. @returns status and text */
async function post(
  body: string,
  headers: Record<string, string> = HEADERS,
  isChunked = false,
): Promise<[number | undefined, string]> {
  form = undefined;
  const sent = request({ port: portOf(), host: '127.0.0.1', method: 'POST', headers });
  if (isChunked) {
    sent.write(body.slice(0, 10));
    sent.end(body.slice(10));
  } else {
    sent.setHeader('Content-Length', Buffer.byteLength(body));
    sent.end(body);
  }
  const [response] = await once(sent, 'response');
  return [response.statusCode, await text(response)];
}

const withToken = (body: string) => `token=${TOKEN}&${body}`;
const accepted = [200, 'accepted'];
const refused = (code: number, sentence: string) => [
  code,
  expect.stringContaining(`<p>${sentence}</p>`),
];

test.each([FORM, 'Application/X-WWW-Form-URLEncoded ; charset=utf-8'])(
  'a form of type %s is accepted',
  async (type) => {
    const body = withToken('purpose=Caf%C3%A9+%26+%F0%9F%8E%AE%0D%0Atwo&limit=60&limit=70&none=');
    expect(await post(body, { 'content-type': type })).toEqual(accepted);
    const read = (name: string) => fieldOf(form ?? new URLSearchParams(), name);
    expect(['purpose', 'limit', 'none', 'missing'].map(read)).toEqual([
      ...['Café & 🎮\ntwo', '60', '', ''],
    ]);
  },
);

test.each(['application/json', `${FORM}x`, 'multipart/form-data; boundary=x', ''])(
  'a form of type %j is refused',
  async (type) => {
    const headers: Record<string, string> = type === '' ? {} : { 'content-type': type };
    expect(await post(withToken('a=1'), headers)).toEqual(
      refused(415, 'Send a form of the type application/x-www-form-urlencoded.'),
    );
  },
);

test('a form with a content coding is refused', async () => {
  expect(await post(withToken('a=1'), { ...HEADERS, 'content-encoding': 'gzip' })).toEqual(
    refused(415, 'Send the form without a content coding.'),
  );
});

test.each([false, true])(
  'a form may have at most 65,536 bytes (chunked: %s)',
  async (isChunked) => {
    const body = withToken('a=').padEnd(65_536, 'x');
    expect(await post(body, HEADERS, isChunked)).toEqual(accepted);
    expect(form?.get('a')).toHaveLength(65_536 - withToken('a=').length);
    expect(await post(`${body}x`, HEADERS, isChunked)).toEqual(refused(413, TOO_LARGE));
    expect(form).toBeUndefined();
  },
);

test('a form may have at most 20 fields', async () => {
  const fields = (count: number) => Array.from({ length: count }, (_, i) => `f${i}=${i}`).join('&');
  expect(await post(withToken(fields(19)))).toEqual(accepted);
  expect(form?.size).toBe(20);
  expect(await post(withToken(fields(20)))).toEqual(refused(400, 'The form has too many fields.'));
});

test('a form needs the token of its visitor, even if it has no other fields', async () => {
  for (const body of ['', 'a=1', 'token=', 'token=another']) {
    expect([body, ...(await post(body))]).toEqual([
      body,
      ...refused(
        403,
        'You may have signed in or out since you opened it. Go back, reload the page and send the form again.',
      ),
    ]);
  }
});

test('a form that was opened by another visitor gives back what was typed, if it is of this site', async () => {
  const typed = `reason=${encodeURIComponent('Two\nlines "and" <b>')}&other=3&token=another`;
  const [status, page] = await post(typed, { ...HEADERS, 'sec-fetch-site': 'same-origin' });
  expect(status).toBe(403);
  expect(page).toContain('<h1>Send it again</h1>');
  expect(page).toContain('<dd>Two\nlines &quot;and&quot; &lt;b&gt;</dd>');
  expect(page).toContain(`<input type="hidden" name="token" value="${TOKEN}">`);
  const fields = [...page.matchAll(/<input type="hidden" name="(\w+)"/g)].map(([, name]) => name);
  expect(fields).toEqual(['token', 'reason', 'other']);
  expect(form).toBeUndefined();
  // Another site could have filled it in. Without anything typed, there is nothing to give back.
  for (const [body, headers] of [
    [typed, HEADERS],
    ['token=another&other=3', { ...HEADERS, 'sec-fetch-site': 'same-origin' }],
    ['token=another&reason=', { ...HEADERS, origin: 'http://localhost:8080' }],
  ] as const) {
    expect((await post(body, headers))[1]).toContain('This form has expired');
  }
});

test.each([
  ['Content-Length: 100', 'a=1'],
  ['Transfer-Encoding: chunked', '3\r\na=1\r\n'],
])('a truncated form is refused: %s', async (field, part) => {
  answered = Promise.withResolvers();
  form = undefined;
  const arrived = once(server, 'request');
  const socket = connect(portOf(), '127.0.0.1');
  socket.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Type: ${FORM}\r\n${field}\r\n\r\n${part}`);
  await arrived;
  socket.destroy();
  expect(await answered.promise).toBe(400);
  expect(form).toBeUndefined();
});
