/** Posted forms as the account pages read them, from a real server: what is taken, and what is refused with which words. */
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fieldOf, RefusedBody, readForm } from '../../../keys/account/form-body.ts';

type Outcome = { readonly form: URLSearchParams } | { readonly refusal: RefusedBody };

const FORM = 'application/x-www-form-urlencoded';
const TOO_LARGE = 'The form is larger than 65536 bytes.';
let outcome: PromiseWithResolvers<Outcome>;

const server = createServer(async (incoming, response) => {
  await readForm(incoming).then(
    (form) => outcome.resolve({ form }),
    (error) => {
      if (error instanceof RefusedBody) outcome.resolve({ refusal: error });
      else outcome.reject(error);
    },
  );
  response.end();
});
const portOf = () => (server.address() as AddressInfo).port;

beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

/** Posts a body, in two pieces without a length where it is `chunked`. */
function post(body: string, headers: Record<string, string>, isChunked = false): Promise<Outcome> {
  outcome = Promise.withResolvers();
  const sent = request({ port: portOf(), host: '127.0.0.1', method: 'POST', headers });
  sent.on('error', () => {});
  sent.on('response', (response) => response.resume());
  if (isChunked) {
    sent.write(body.slice(0, 10));
    sent.end(body.slice(10));
  } else {
    sent.setHeader('Content-Length', Buffer.byteLength(body));
    sent.end(body);
  }
  return outcome.promise;
}

async function refusalOf(posted: Promise<Outcome>): Promise<[number, string]> {
  const result = await posted;
  if (!('refusal' in result)) throw new Error('The form was taken.');
  return [result.refusal.status, result.refusal.message];
}

async function formOf(posted: Promise<Outcome>): Promise<URLSearchParams> {
  const result = await posted;
  if ('refusal' in result) throw result.refusal;
  return result.form;
}

test.each([FORM, 'Application/X-WWW-Form-URLEncoded ; charset=utf-8'])(
  'is read as %s',
  async (type) => {
    const form = await formOf(
      post('purpose=Caf%C3%A9+%26+%F0%9F%8E%AE%0D%0Atwo&limit=60&limit=70&none=', {
        'content-type': type,
      }),
    );
    expect(fieldOf(form, 'purpose')).toBe('Café & 🎮\ntwo');
    expect(fieldOf(form, 'limit')).toBe('60');
    expect(fieldOf(form, 'none')).toBe('');
    expect(fieldOf(form, 'missing')).toBe('');
  },
);

test.each(['application/json', `${FORM}x`, 'multipart/form-data; boundary=x', ''])(
  'is refused as %j',
  async (type) => {
    const headers: Record<string, string> = type === '' ? {} : { 'content-type': type };
    expect(await refusalOf(post('a=1', headers))).toEqual([
      415,
      'Send a form of the type application/x-www-form-urlencoded.',
    ]);
  },
);

test('is refused with a content coding', async () => {
  const headers = { 'content-type': FORM, 'content-encoding': 'gzip' };
  expect(await refusalOf(post('a=1', headers))).toEqual([
    415,
    'Send the form without a content coding.',
  ]);
});

test.each([false, true])('may have 65,536 bytes and no more (chunked: %s)', async (isChunked) => {
  const headers = { 'content-type': FORM };
  const body = `a=${'x'.repeat(65_534)}`;
  expect(fieldOf(await formOf(post(body, headers, isChunked)), 'a')).toHaveLength(65_534);
  expect(await refusalOf(post(`${body}x`, headers, isChunked))).toEqual([413, TOO_LARGE]);
});

test('may have 20 fields and no more', async () => {
  const fields = (count: number) => Array.from({ length: count }, (_, i) => `f${i}=${i}`).join('&');
  const headers = { 'content-type': FORM };
  expect((await formOf(post(fields(20), headers))).size).toBe(20);
  expect(await refusalOf(post(fields(21), headers))).toEqual([
    400,
    'The form has too many fields.',
  ]);
});

test('is refused when it is broken off', async () => {
  outcome = Promise.withResolvers();
  const socket = connect(portOf(), '127.0.0.1');
  socket.write(
    `POST / HTTP/1.1\r\nHost: a\r\nContent-Type: ${FORM}\r\nContent-Length: 100\r\n\r\na=1`,
    () => setTimeout(() => socket.destroy(), 50),
  );
  expect(await refusalOf(outcome.promise)).toEqual([400, 'The form was broken off.']);
});
