/** The client (`client/`) with the real proxy: requests, pages, snapshots, the cache and errors. */
import { describe, expect, test } from 'vitest';
import { type ApiError, type Client, createClient } from '#client/index.ts';
import { makeSampleSnapshots } from '#test/catalogue/snapshots.ts';
import { NEVER, startProxy, testKey, writeKeys } from '#test/support/product.ts';

const key = testKey(1);
const limited = testKey(2, { limit: 1 });
const SNES = { path: { slug: 'snes' } };
const OTHER_SNAPSHOT = '000009-0123456789ab';

/** The responses to the requests of {@link client}, in order. */
const responses: Response[] = [];
const requests: Request[] = [];

const snapshotsDir = await makeSampleSnapshots();
writeKeys(snapshotsDir, [key, limited]);
const proxy = await startProxy(snapshotsDir, {}, NEVER);
const url = `${proxy.url}/api/v1`;
const client = recordingClient();

function recordingClient(options: { cacheCharacters?: number } = {}): Client {
  return createClient({
    url,
    key: key.key,
    ...options,
    async fetch(request) {
      requests.push(request);
      const response = await fetch(request);
      responses.push(response);
      return response;
    },
  });
}

async function errorOf(promise: Promise<unknown>): Promise<ApiError> {
  return promise.then(
    () => expect.unreachable(),
    (error) => error,
  );
}

describe('a request', () => {
  test('returns the body with its type', async () => {
    const path = { platformSlug: 'snes', gameSlug: 'chrono-trigger' };
    const game = await client.get('/games/{platformSlug}/{gameSlug}', { path });
    expect([game.title, game.release_year]).toEqual(['Chrono Trigger', 1995]);
    expect((await client.get('/stats')).games).toBe(230);
  });

  test('encodes parameters', async () => {
    const q = 'R&D + 50%?#é ポケ';
    expect((await client.request('/search', { query: { q } })).response.status).toBe(200);
    expect(new URL(requests.at(-1)?.url ?? '').searchParams.get('q')).toBe(q);
    const slug = 'a/b?c';
    expect((await errorOf(client.get('/platforms/{slug}', { path: { slug } }))).status).toBe(404);
    expect(requests.at(-1)?.url).toBe(`${url}/platforms/a%2Fb%3Fc`);
  });

  test('returns the headers of the response to request()', async () => {
    const { data, response } = await client.request('/search', { query: { q: 'crono triger' } });
    expect(data.data[0]?.title).toBe('Chrono Trigger');
    expect(response.headers.get('x-search-match')).toBe('near');
  });

  test('sends the key only as Bearer, and no header without one', async () => {
    await client.get('/stats');
    const { headers } = requests.at(-1) as Request;
    expect(headers.get('authorization')).toBe(`Bearer ${key.key}`);
    expect(headers.get('x-api-key')).toBeNull();
    const error = await errorOf(createClient({ url }).get('/stats'));
    expect([error.status, error.message]).toEqual([401, 'Missing API key']);
  });

  test('is aborted by its signal', async () => {
    const reason = new Error('enough');
    const signal = AbortSignal.abort(reason);
    expect(await errorOf(client.get('/stats', { signal }))).toBe(reason);
  });

  test('accepts an address with a slash at its end', async () => {
    const { games } = await createClient({ url: `${url}/`, key: key.key }).get('/stats');
    expect(games).toBe(230);
  });
});

describe('an error', () => {
  test('has the status, the message of the API and the address', async () => {
    const error = await errorOf(client.get('/platforms/{slug}', { path: { slug: 'no/such' } }));
    expect(error).toMatchObject({
      name: 'ApiError',
      status: 404,
      message: 'Not found',
      retryAfter: undefined,
      url: `${url}/platforms/no%2Fsuch`,
    });
    const bad = await errorOf(client.get('/search', { query: { per_page: 101 } }));
    expect(bad).toMatchObject({ status: 400, parameter: 'per_page' });
    expect(bad.message).toBe('per_page must be an integer from 1 to 100');
  });

  test('has the seconds to wait, if the client may not wait as long', async () => {
    const impatient = createClient({ url, key: limited.key, longestWait: 0 });
    await impatient.get('/stats');
    const error = await errorOf(impatient.get('/platforms'));
    expect([error.status, error.message]).toEqual([429, 'Rate limit exceeded']);
    expect(error.retryAfter).toBeGreaterThan(50);
  });
});

describe('a list with pages', () => {
  test('has all items, in order, each once', async () => {
    const slugs: string[] = [];
    for await (const { slug } of client.items('/platforms/{slug}/games', SNES)) slugs.push(slug);
    const { data } = await client.get('/platforms/{slug}/games', SNES);
    expect(slugs).toEqual(data.map(({ slug }) => slug));
    expect(new Set(slugs).size).toBe(20);
  });

  test('has pages of 100 items, or as many as wanted, from the wanted page on', async () => {
    const sizes = async (query: { page?: number; per_page?: number }) => {
      const found: string[] = [];
      for await (const { page, data } of client.pages('/search', { query })) {
        found.push(`${page}: ${data.length}`);
      }
      return found;
    };
    expect(await sizes({})).toEqual(['1: 100', '2: 100', '3: 30']);
    expect(await sizes({ per_page: 99, page: 2 })).toEqual(['2: 99', '3: 32']);
    expect(await sizes({ page: 9 })).toEqual(['9: 0']);
    const unset = { page: undefined, per_page: undefined } as unknown as { page?: number };
    expect(await sizes(unset)).toEqual(['1: 100', '2: 100', '3: 30']);
  });

  test('names the snapshot of the first page in all further requests', async () => {
    requests.length = 0;
    for await (const _ of client.pages('/search')) {
      // Only the requests matter.
    }
    const current = responses.at(-1)?.headers.get('x-snapshot');
    expect(requests.map(({ headers }) => headers.get('x-snapshot'))).toEqual([
      null,
      current,
      current,
    ]);
  });

  test('requests no page before it is needed', async () => {
    requests.length = 0;
    for await (const _ of client.items('/search')) break;
    expect(requests).toHaveLength(1);
  });
});

describe('when another snapshot becomes current', () => {
  const CHANGED =
    'Another snapshot of the catalogue is current than the one that you began to read. Begin again.';

  test('reading the next page of a list throws an error with status 412', async () => {
    const own = createClient({
      url,
      key: key.key,
      fetch(request) {
        // As if the snapshot of the first page had been another one.
        if (request.headers.has('x-snapshot')) request.headers.set('x-snapshot', OTHER_SNAPSHOT);
        return fetch(request);
      },
    });
    const pages = own.pages('/search');
    await pages.next();
    const error = await errorOf(pages.next());
    expect([error.status, error.message]).toEqual([412, CHANGED]);
  });

  test('downloading a file of the one before throws an error with status 412', async () => {
    const { id, files } = await client.get('/snapshot');
    const { path } = files[0] as (typeof files)[0];
    expect((await client.file(path, { snapshot: id })).headers.get('x-snapshot')).toBe(id);
    const error = await errorOf(client.file(path, { snapshot: OTHER_SNAPSHOT }));
    expect([error.status, error.message]).toEqual([412, CHANGED]);
  });
});

describe('the cache', () => {
  const stats = async (from: Client) => (await from.get('/stats')).games;
  const statuses = () => responses.splice(0).map(({ status }) => status);

  test('revalidates, and returns a body of its own each time', async () => {
    const own = recordingClient();
    statuses();
    const first = await own.get('/stats');
    first.games = -1;
    expect(await stats(own)).toBe(230);
    expect(statuses()).toEqual([200, 304]);
  });

  test('reads the body of a 304, which would keep its connection busy', async () => {
    const read: number[] = [];
    const own = createClient({
      url,
      key: key.key,
      async fetch(request) {
        const response = await fetch(request);
        const text = response.text.bind(response);
        const value = () => {
          read.push(response.status);
          return text();
        };
        return Object.defineProperty(response, 'text', { value });
      },
    });
    await own.get('/stats');
    await own.get('/stats');
    expect(read).toContain(304);
  });

  test('keeps the headers of the latest response', async () => {
    const own = recordingClient();
    const target = ['/search', { query: { q: 'crono triger' } }] as const;
    await own.request(...target);
    const { response } = await own.request(...target);
    expect(responses.at(-1)?.status).toBe(304);
    expect([response.status, response.headers.get('x-search-match')]).toEqual([200, 'near']);
  });

  test('drops the least recently used bodies above its size', async () => {
    const size = JSON.stringify(await client.get('/stats')).length;
    const game = (gameSlug: string) =>
      ['/games/{platformSlug}/{gameSlug}', { path: { platformSlug: 'snes', gameSlug } }] as const;
    const [oldest, newest] = [game('actraiser'), game('chrono-trigger')];
    const own = recordingClient({ cacheCharacters: size + 600 });
    statuses();
    await own.get(...oldest);
    await stats(own);
    await own.get(...newest);
    expect(statuses()).toEqual([200, 200, 200]);
    await stats(own);
    await own.get(...newest);
    await own.get(...oldest);
    expect(statuses()).toEqual([304, 304, 200]);
    // The one that was used least recently is now that of the statistics.
    await own.get(...newest);
    await stats(own);
    expect(statuses()).toEqual([304, 200]);
  });

  test('keeps nothing with a size of 0', async () => {
    const own = recordingClient({ cacheCharacters: 0 });
    statuses();
    await stats(own);
    await stats(own);
    expect(statuses()).toEqual([200, 200]);
  });
});
