/** Which forms the account pages accept, and their refusals, on a real server with room for few connections. */
import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { Hono } from 'hono';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { fieldOf, readForm } from '#keys/account/routes/forms.ts';
import type { PageEnv } from '#keys/account/routes/replies.ts';
import { makeAccountServer } from '#keys/account/server.ts';
import { newConnectionCells } from '#lib/program/connections.ts';
import { listenOn, openSocket, readToEnd } from '#test/support/servers/sockets.ts';

const FORM = 'application/x-www-form-urlencoded';
const HEADERS = { 'content-type': FORM };
const TOO_LARGE = 'A form can have at most 64 KiB. Nothing was changed.';
let form: URLSearchParams | undefined;
/** Resolves with the status of the response to a request. */
let answered = Promise.withResolvers<number>();

const app = new Hono<PageEnv>();
app.use(async (c, next) => {
  c.set('viewer', { account: undefined, hasSession: false });
  await next();
  answered.resolve(c.res.status);
});
app.post('/', readForm, (c) => {
  form = c.var.form;
  return c.text('accepted');
});
const MOST = 3;
const server = makeAccountServer(app, newConnectionCells(MOST), pino({ level: 'silent' }));
const port = await listenOn(server);

/** Posts a body: in two chunks if `isChunked`, else with a Content-Length. @returns status and text */
async function post(
  body: string,
  headers: Record<string, string> = HEADERS,
  isChunked = false,
): Promise<[number | undefined, string]> {
  form = undefined;
  const sent = request({ port, host: '127.0.0.1', method: 'POST', headers });
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

const accepted = [200, 'accepted'];
const refused = (code: number, sentence: string) => [
  code,
  expect.stringContaining(`<p>${sentence}</p>`),
];

test.each([FORM, 'Application/X-WWW-Form-URLEncoded ; charset=utf-8'])(
  'a form of type %s is accepted',
  async (type) => {
    const body = 'purpose=Caf%C3%A9+%26+%F0%9F%8E%AE%0D%0Atwo&limit=60&limit=70&none=';
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
    expect(await post('a=1', headers)).toEqual(
      refused(415, 'Send a form of the type application/x-www-form-urlencoded.'),
    );
  },
);

test.each([false, true])(
  'a form may have at most 65,536 bytes (chunked: %s)',
  async (isChunked) => {
    const body = 'a='.padEnd(65_536, 'x');
    expect(await post(body, HEADERS, isChunked)).toEqual(accepted);
    expect(form?.get('a')).toHaveLength(65_536 - 'a='.length);
    expect(await post(`${body}x`, HEADERS, isChunked)).toEqual(refused(413, TOO_LARGE));
    expect(form).toBeUndefined();
  },
);

test.each([
  ['Content-Length: 100', 'a=1'],
  ['Transfer-Encoding: chunked', '3\r\na=1\r\n'],
])('a truncated form is refused: %s', async (field, part) => {
  answered = Promise.withResolvers();
  form = undefined;
  const arrived = once(server, 'request');
  const socket = connect(port, '127.0.0.1');
  socket.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Type: ${FORM}\r\n${field}\r\n\r\n${part}`);
  await arrived;
  socket.destroy();
  expect(await answered.promise).toBe(400);
  expect(form).toBeUndefined();
});

test.each([
  ['send nothing', ''],
  [
    'send half a form',
    `POST / HTTP/1.1\r\nHost: a\r\nContent-Type: ${FORM}\r\nContent-Length: 9\r\n\r\na`,
  ],
])('more connections that %s than there may be keep nobody out', async (_name, part) => {
  const ended = readToEnd(await openSocket(port));
  for (let i = 0; i < MOST; i++) {
    const socket = await openSocket(port);
    void readToEnd(socket);
    socket.write(part);
  }
  expect(await post('a=1')).toEqual(accepted);
  expect(await ended).toBe('');
});
