/** How the client (`client/`) waits when a server asks it to try again later. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type ApiError, createClient } from '#client/index.ts';

/** The server answers with one of these after another, and then with a success. */
let answers: [status: number, retryAfter: string | undefined, body?: string][];
let requests: number;
/** How long the client has waited, in milliseconds. */
let waits: (number | undefined)[];

beforeEach(() => {
  answers = [];
  requests = 0;
  waits = [];
  whenItWaits(queueMicrotask);
});

afterEach(() => {
  vi.restoreAllMocks();
});

/** Replaces the timer: no test waits. @param act gets what the timer would call */
function whenItWaits(act: (end: () => void) => void): void {
  const timer = (end: () => void, milliseconds?: number) => {
    waits.push(milliseconds);
    act(end);
    return 0 as unknown as NodeJS.Timeout;
  };
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(timer as typeof setTimeout);
}

const makeClient = (options: { longestWait?: number; onWait?: (seconds: number) => void } = {}) =>
  createClient({
    url: 'http://covers.example/api/v1',
    ...options,
    async fetch() {
      requests++;
      const [status, retryAfter, body = '{"error":"Rate limit exceeded"}'] = answers.shift() ?? [
        200,
      ];
      const headers = new Headers({ 'content-type': 'application/json; charset=utf-8' });
      if (retryAfter !== undefined) headers.set('retry-after', retryAfter);
      return new Response(status === 200 ? '{"games":3}' : body, { status, headers });
    },
  });

const errorOf = (promise: Promise<unknown>): Promise<ApiError> =>
  promise.then(
    () => expect.unreachable(),
    (error) => error,
  );

describe('after 429 and 503', () => {
  test('it waits as long as the response says, and repeats the request', async () => {
    answers = [
      [429, '7'],
      [503, '0'],
    ];
    const { games } = await makeClient().get('/stats');
    expect([games, requests, waits]).toEqual([3, 3, [7_000, 1_000]]);
  });

  test('it says before each wait how long it is, to tell who waits', async () => {
    answers = [
      [429, '7'],
      [503, '2'],
    ];
    const told: [seconds: number, waits: number][] = [];
    const onWait = (seconds: number) => told.push([seconds, waits.length]);
    await makeClient({ onWait }).get('/stats');
    expect(told).toEqual([
      [7, 0],
      [2, 1],
    ]);
  });

  test('it waits where requests have no signal, as in some runtimes', async () => {
    vi.spyOn(Request.prototype, 'signal', 'get').mockReturnValue(undefined as never);
    answers = [[429, '7']];
    expect((await makeClient().get('/stats')).games).toBe(3);
  });

  test('it understands a date', async () => {
    answers = [[503, new Date(Date.now() - 60_000).toUTCString()]];
    expect((await makeClient().get('/stats')).games).toBe(3);
    expect(waits).toEqual([1_000]);
    answers = [[503, new Date(Date.now() + 3_600_000).toUTCString()]];
    const error = await errorOf(makeClient().get('/stats'));
    expect(Math.round((error.retryAfter as number) / 60)).toBe(60);
  });

  test('it throws when it would wait longer in total than allowed', async () => {
    answers = [
      [429, '4'],
      [429, '4'],
    ];
    const error = await errorOf(makeClient({ longestWait: 6 }).get('/stats'));
    expect(error).toMatchObject({ status: 429, retryAfter: 4, message: 'Rate limit exceeded' });
    expect([requests, waits]).toEqual([2, [4_000]]);
  });

  test.each([0, 3])(
    'it ends if the API always asks for no wait, with longestWait %i',
    async (most) => {
      answers = Array.from({ length: 10 }, () => [503, '0']);
      const error = await errorOf(makeClient({ longestWait: most }).get('/stats'));
      expect([error.status, error.retryAfter, waits.length, requests]).toEqual([
        503,
        0,
        most,
        most + 1,
      ]);
    },
  );

  test.each([undefined, 'soon'])('it throws if the response says %s', async (retryAfter) => {
    answers = [[503, retryAfter]];
    const error = await errorOf(makeClient().get('/stats'));
    expect([error.status, error.retryAfter, requests]).toEqual([503, undefined, 1]);
  });

  test('the signal ends the wait', async () => {
    answers = [[429, '100']];
    const abort = new AbortController();
    const reason = new Error('enough');
    whenItWaits(() => queueMicrotask(() => abort.abort(reason)));
    const error = await errorOf(makeClient().get('/stats', { signal: abort.signal }));
    expect(error).toBe(reason);
    expect([requests, waits]).toEqual([1, [100_000]]);
  });
});

test.each([400, 401, 404, 410, 500])('after %i it throws at once', async (status) => {
  answers = [[status, '1', '{"error":"No"}']];
  const error = await errorOf(makeClient().get('/stats'));
  expect([error.status, error.message, requests]).toEqual([status, 'No', 1]);
});

test.each(['<html>Bad Gateway</html>', '{"error":{"code":7}}', 'null', ''])(
  'the error of %j has a message of its own',
  async (body) => {
    answers = [[502, undefined, body]];
    const error = await errorOf(makeClient().get('/stats'));
    expect([error.name, error.status, error.message]).toEqual(['ApiError', 502, 'HTTP status 502']);
  },
);

test('without a response, the error is that of fetch', async () => {
  vi.restoreAllMocks();
  // Fetch refuses this port.
  const error = await errorOf(createClient({ url: 'http://127.0.0.1:1' }).get('/stats'));
  expect(error).toBeInstanceOf(TypeError);
});
