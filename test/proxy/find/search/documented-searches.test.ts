/** The examples of searches in openapi.yaml are true for the sample catalogue, and fit the contract. */
import { beforeAll, describe, expect, test } from 'vitest';
import { SORTS } from '#proxy/find/search/query.ts';
import { makeSampleSnapshots } from '#test/catalogue/snapshots.ts';
import { checkContract, type JsonObject, readContract } from '#test/support/openapi.ts';
import { type RunningProxy, send, startProxy, testKey } from '#test/support/product.ts';

const contract = readContract();
const paths = contract.paths as Record<string, { readonly get: JsonObject }>;
const { description, parameters } = paths['/search'].get;
const key = testKey(1);
let proxy: RunningProxy;

beforeAll(async () => {
  proxy = await startProxy(await makeSampleSnapshots([key]));
});

function parameter(name: string): JsonObject {
  const found = (parameters as JsonObject[]).find((one) => one.name === name);
  if (found === undefined) throw new Error(`/search has no parameter ${name}.`);
  return found;
}

/** Sends a search and checks the response against the contract. */
async function search(query: Readonly<Record<string, string>>, headers = {}) {
  const target = `/api/v1/search?${new URLSearchParams(query)}`;
  const reply = await send(proxy.url + target, { headers: { 'x-api-key': key.key, ...headers } });
  checkContract('GET', target, reply);
  return reply;
}

/** Each "`q` finds "Title"" of a text. The text may be broken into lines. */
function examplesOf(text: unknown): [q: string, title: string][] {
  const examples = String(text)
    .replaceAll(/\s+/g, ' ')
    .matchAll(/`([^`]+)` finds "([^"]+)"/g);
  return [...examples].map(([, q = '', title = '']) => [q, title]);
}

const ofSteps = String(description)
  .split(/^\d\. /m)
  .flatMap((item) => {
    const [, step = ''] = /^`(\w+)`: /.exec(item) ?? [];
    return examplesOf(item).map(([q, title]): [string, string, string] => [step, q, title]);
  });

describe('of the steps', () => {
  test('there is one for each', () => {
    expect(ofSteps.map(([step]) => step)).toEqual(['exact', 'near', 'platform', 'partial']);
  });

  test.each(ofSteps)('%s: %j finds %j', async (step, q, title) => {
    const reply = await search({ q, sort: 'relevance' });
    expect(reply.json.data[0].title).toBe(title);
    expect(reply.headers['x-search-match']).toBe(step);
    const again = await search({ q, sort: 'relevance' }, { 'if-none-match': reply.headers.etag });
    expect([again.status, again.headers['x-search-match']]).toEqual([304, step]);
  });
});

describe('of q', () => {
  const examples = examplesOf(parameter('q').description);

  test('there are several', () => {
    expect(examples.length).toBeGreaterThan(8);
  });

  test.each(examples)('%j finds %j', async (q, title) => {
    const reply = await search({ q });
    expect(reply.json.data.map((game: { title: string }) => game.title)).toContain(title);
    expect(reply.headers['x-search-match']).toBe('exact');
  });

  test('a text without a word finds nothing, without a step', async () => {
    const reply = await search({ q: '!!!' });
    expect(reply.json.total).toBe(0);
    expect(reply.headers).not.toHaveProperty('x-search-match');
    expect((await search({})).headers).not.toHaveProperty('x-search-match');
  });
});

test('the contract has every sort of the search, and each finds the same number of games', async () => {
  expect((parameter('sort').schema as JsonObject).enum).toEqual(SORTS);
  const totals = new Set<number>();
  for (const sort of SORTS) totals.add((await search({ q: 'final fantasy', sort })).json.total);
  expect(totals.size).toBe(1);
  expect(Math.min(...totals)).toBeGreaterThan(5);
});
