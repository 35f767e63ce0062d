/** `/changes` over HTTP: parameters and pages. `test/proxy/http/api.test.ts` has the headers. */
import { describe, expect, test } from 'vitest';
import { makeHistory } from '#test/proxy/snapshot/history.ts';
import { checkContract } from '#test/support/openapi.ts';
import { NEVER, type Reply, startProxy, testKey, writeKeys } from '#test/support/product.ts';

const key = testKey(1);

const history = await makeHistory(21, 8);
const dir = history.dir;
const ids = [...history.states.keys()];
writeKeys(dir, [key]);
const proxy = await startProxy(dir, {}, NEVER);

/** Sends a request, and checks the response against the contract. */
async function get(query: string, headers: Record<string, string> = {}): Promise<Reply> {
  const target = `/changes${query}`;
  const reply = await proxy.get(target, key.key, headers);
  checkContract('GET', `/api/v1${target}`, reply);
  return reply;
}

const GONE =
  'Snapshot gone: read the whole catalogue again, and send its X-Snapshot as since from then on';

describe('the parameter since', () => {
  test.each([
    ['', 'since is missing. To begin, read the whole catalogue from one snapshot.'],
    ['?since=', 'since is missing.'],
    ['?since=latest', 'since must be the id of a snapshot'],
    ['?since=..%2F..%2Fetc', 'since must be the id of a snapshot'],
    ['?since=000001-0123456789AB', 'since must be the id of a snapshot'],
    ['?since=000001-0123456789ab&per_page=101', 'per_page must be an integer from 1 to 100'],
    ['?since=000001-0123456789ab&kind=game', 'Unknown parameter: kind. Allowed: since, page, '],
  ])('%s gets 400 with an explanation', async (query, text) => {
    const reply = await get(query);
    expect([reply.status, reply.json.error]).toEqual([400, expect.stringContaining(text)]);
  });

  test('gets 410 for a snapshot that is not known, with what to do', async () => {
    const reply = await get('?since=000001-0123456789ab');
    expect([reply.status, reply.json]).toEqual([410, { error: GONE }]);
    expect(reply.headers['cache-control']).toBe('no-store');
  });

  test('may be the current snapshot: nothing has changed', async () => {
    const current = ids.at(-1);
    const reply = await get(`?since=${current}`);
    expect(reply.text).toBe(
      `{"from":"${current}","to":"${current}","data":[],"page":1,"per_page":50,"total":0,"total_pages":0}`,
    );
  });
});

test('a page has the headers of other pages, and each line is one change', async () => {
  const since = ids[0];
  const whole = await get(`?since=${since}&per_page=100`);
  const total: number = whole.json.total;
  expect(total).toBeGreaterThan(6);
  expect(whole.json.data).toHaveLength(total);
  expect(whole.text.split('\n')).toHaveLength(total + 2);
  const last = Math.ceil(total / 3);
  const page = await get(`?since=${since}&per_page=3&page=2`);
  expect(page.json).toMatchObject({ from: since, to: ids.at(-1), page: 2, per_page: 3, total });
  expect(page.json.data).toEqual(whole.json.data.slice(3, 6));
  expect(page.headers['x-snapshot']).toBe(ids.at(-1));
  const link = (number: number, relation: string) =>
    `<http://localhost:8080/api/v1/changes?since=${since}&page=${number}&per_page=3>; rel="${relation}"`;
  expect(page.headers.link).toBe(
    [link(1, 'first'), link(1, 'prev'), link(3, 'next'), link(last, 'last')].join(', '),
  );
  const past = await get(`?since=${since}&per_page=3&page=${last + 1}`);
  expect(past.json).toMatchObject({ data: [], total, total_pages: last });
});

test('a proxy with several threads gives the same pages, and a restart changes nothing', async () => {
  const query = `/changes?since=${ids[0]}&per_page=7`;
  const expected = await proxy.get(query, key.key);
  const threads = await startProxy(dir, { PROXY_THREADS: '2' });
  const replies = await Promise.all(
    Array.from({ length: 40 }, () => threads.get(query, key.key, { connection: 'close' })),
  );
  for (const { status, text, headers } of replies) {
    expect([status, text, headers.etag]).toEqual([200, expected.text, expected.headers.etag]);
  }
  await threads.stop();
});
