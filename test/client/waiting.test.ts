/** How the client (`client/`) waits when a server asks it to try again later. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type ApiError, createClient } from '../../client/index.ts';

/** The server answers with one of these after another, and then with a success. */
let answers: [status: number, retryAfter: string | undefined, body?: string][];
let requests: number;
let server: Server;
let url: string;

beforeEach(async () => {
  answers = [];
  requests = 0;
  server = createServer((_request, response) => {
    requests++;
    const [status, retryAfter, body = '{"error":"Rate limit exceeded"}'] = answers.shift() ?? [200];
    response.statusCode = status;
    response.setHeader('Content-Type', 'application/json; charset=utf-8');
    if (retryAfter !== undefined) response.setHeader('Retry-After', retryAfter);
    response.end(status === 200 ? '{"games":3}' : body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(() => {
  server.close();
  server.closeAllConnections();
});

const errorOf = (promise: Promise<unknown>): Promise<ApiError> =>
  promise.then(
    () => expect.unreachable(),
    (error) => error,
  );

/** How long something takes, in milliseconds. */
async function timeOf(action: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await action();
  return performance.now() - start;
}

describe('after 429 and 503', () => {
  test('it waits as long as the response says, and repeats the request', async () => {
    answers = [
      [429, '1'],
      [503, '0'],
    ];
    const client = createClient({ url });
    let games: number | undefined;
    const time = await timeOf(async () => {
      games = (await client.get('/stats')).games;
    });
    expect([games, requests]).toEqual([3, 3]);
    expect(time).toBeGreaterThan(990);
    expect(time).toBeLessThan(5000);
  });

  test('it understands a date', async () => {
    answers = [[503, new Date(Date.now() - 60_000).toUTCString()]];
    expect((await createClient({ url }).get('/stats')).games).toBe(3);
    answers = [[503, new Date(Date.now() + 3_600_000).toUTCString()]];
    const error = await errorOf(createClient({ url }).get('/stats'));
    expect(Math.round((error.retryAfter as number) / 60)).toBe(60);
  });

  test('it throws when it would wait longer in total than allowed', async () => {
    answers = [
      [429, '1'],
      [429, '1'],
    ];
    const client = createClient({ url, longestWait: 1.5 });
    const time = await timeOf(async () => {
      const error = await errorOf(client.get('/stats'));
      expect(error).toMatchObject({ status: 429, retryAfter: 1, message: 'Rate limit exceeded' });
    });
    expect([requests, Math.round(time / 1000)]).toEqual([2, 1]);
  });

  test.each([undefined, 'soon'])('it throws if the response says %s', async (retryAfter) => {
    answers = [[503, retryAfter]];
    const error = await errorOf(createClient({ url }).get('/stats'));
    expect([error.status, error.retryAfter, requests]).toEqual([503, undefined, 1]);
  });

  test('the signal ends the wait', async () => {
    answers = [[429, '100']];
    const abort = new AbortController();
    const reason = new Error('enough');
    const time = await timeOf(async () => {
      const error = errorOf(createClient({ url }).get('/stats', { signal: abort.signal }));
      setTimeout(() => abort.abort(reason), 100);
      expect(await error).toBe(reason);
    });
    expect(time).toBeLessThan(5000);
    expect(requests).toBe(1);
  });
});

test.each([400, 401, 404, 410, 500])('after %i it throws at once', async (status) => {
  answers = [[status, '1', '{"error":"No"}']];
  const error = await errorOf(createClient({ url }).get('/stats'));
  expect([error.status, error.message, requests]).toEqual([status, 'No', 1]);
});

test.each(['<html>Bad Gateway</html>', '{"error":{"code":7}}', 'null', ''])(
  'the error of %j has a message of its own',
  async (body) => {
    answers = [[502, undefined, body]];
    const error = await errorOf(createClient({ url }).get('/stats'));
    expect([error.name, error.status, error.message]).toEqual(['ApiError', 502, 'HTTP status 502']);
  },
);

test('without a response, the error is that of fetch', async () => {
  server.close();
  server.closeAllConnections();
  await once(server, 'close');
  const error = await errorOf(createClient({ url }).get('/stats'));
  expect(error).toBeInstanceOf(TypeError);
});
