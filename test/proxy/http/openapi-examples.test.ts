/** The examples in openapi.yaml, those of searches too, are what the proxy sends for the sample. */
import { describe, expect, test } from 'vitest';
import { SORTS } from '#find/search/query.ts';
import { makeSampleSqlite } from '#test/catalogue/snapshots.ts';
import { change } from '#test/support/databases.ts';
import { checkContract, type JsonObject, readContract } from '#test/support/openapi.ts';
import { generate, NEVER, startProxy, testKey, writeKeys } from '#test/support/product.ts';
import { newSnapshots } from '#test/support/wholeness.ts';

interface Example {
  readonly summary?: string;
  readonly value: JsonObject;
}

interface ErrorResponse {
  readonly content?: {
    readonly 'application/json': { readonly examples?: Record<string, Example> };
  };
}

const contract = readContract();
const { components } = contract as unknown as {
  components: { examples: Record<string, Example>; responses: Record<string, ErrorResponse> };
};
const paths = contract.paths as Record<string, { readonly get: JsonObject }>;
const { description, parameters } = paths['/search'].get;
const ofErrors = Object.values(components.responses).flatMap(({ content }) =>
  Object.values(content?.['application/json'].examples ?? {}),
);
const key = testKey(1);
const databaseUrl = await makeSampleSqlite();
const snapshotsDir = newSnapshots();
await generate(databaseUrl, snapshotsDir);
writeKeys(snapshotsDir, [key]);
const proxy = await startProxy(snapshotsDir, {}, NEVER);

/** What the summary of an example says: its request, and whether items are left out. */
function readSummary({ summary = '' }: Example) {
  const [, target, shortened] = /^GET (\/\S*?)(, the first two)?$/.exec(summary) ?? [];
  return { target, isShortened: shortened !== undefined };
}

/** The ids of snapshots and the hashes of files depend on the versions of Node and of the format. */
const HAS_IDS = /^\/(?:changes|snapshot)\b/;
const examples = [...Object.values(components.examples), ...ofErrors]
  .map((example) => ({ ...readSummary(example), value: example.value }))
  .filter(({ target }) => target !== undefined && !HAS_IDS.test(target));

test('there are several, of records and of errors', () => {
  expect(Object.values(components.examples).map(readSummary)).not.toContainEqual(
    expect.objectContaining({ target: undefined }),
  );
  expect(examples.filter(({ value }) => 'error' in value).length).toBeGreaterThan(2);
  expect(examples.length).toBeGreaterThan(12);
});

test.each(examples)('$target', async ({ target = '', isShortened, value }) => {
  const { status, json } = await proxy.get(target, key.key);
  expect(status).toBe('error' in value ? 400 : 200);
  if (isShortened) {
    expect(json.data.length).toBeGreaterThan(2);
    json.data.length = 2;
  }
  // As text, because the order of members belongs to the contract.
  expect(JSON.stringify(value)).toBe(JSON.stringify(json));
});

function parameter(name: string): JsonObject {
  const found = (parameters as JsonObject[]).find((one) => one.name === name);
  if (found === undefined) throw new Error(`/search has no parameter ${name}.`);
  return found;
}

/** Sends a search and checks the response against the contract. */
async function search(query: Readonly<Record<string, string>>, headers = {}) {
  const target = `/search?${new URLSearchParams(query)}`;
  const reply = await proxy.get(target, key.key, headers);
  checkContract('GET', `/api/v1${target}`, reply);
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

describe('of the steps of a search', () => {
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

describe('of q in a search', () => {
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

/** A manifest without what depends on the versions of Node and of the format, with its first two files. */
function comparable({ files, ...manifest }: JsonObject): string {
  const versions = { id: '', icu_version: '', unicode_version: '' };
  const paths = (files as { path: string }[]).slice(0, 2).map(({ path }) => path);
  return JSON.stringify({ ...manifest, ...versions, paths });
}

test('/snapshot, apart from ids, versions and hashes', async () => {
  const { json } = await proxy.get('/snapshot', key.key);
  expect(comparable(json)).toBe(comparable(components.examples.Snapshot.value));
});

test('/changes, apart from the ids of snapshots', async () => {
  const before = (await proxy.get('/stats', key.key)).headers['x-snapshot'];
  await change(
    databaseUrl,
    "UPDATE covers SET status = 'approved' WHERE id = 50092",
    "UPDATE covers SET region = 'Europe' WHERE id = 50310",
    "UPDATE covers SET status = 'rejected' WHERE id IN (50782, 50873)",
  );
  await generate(databaseUrl, snapshotsDir);
  writeKeys(snapshotsDir, [key]);
  await proxy.refresh();
  const { json, headers } = await proxy.get(`/changes?since=${before}`, key.key);
  const { from, to } = components.examples.Changes.value;
  expect(JSON.stringify({ ...json, from, to })).toBe(
    JSON.stringify(components.examples.Changes.value),
  );
  expect([json.from, json.to]).toEqual([before, headers['x-snapshot']]);
});
