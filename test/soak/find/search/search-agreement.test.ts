/**
 * The product's search and the plain reference over the same rows, through the real proxy: seeded
 * random queries over all parameters and every order, of which totals, games and `X-Search-Match`
 * must agree.
 */
import { expect, test } from 'vitest';
import { makeSnapshots } from '#test/catalogue/snapshots.ts';
import { startProxy, testKey } from '#test/support/product.ts';
import { makeReferenceSearch } from './reference/search.ts';
import { searchCatalogue } from './search-catalogue.ts';
import { type PagedQuery, randomQueries } from './search-queries.ts';

const QUERIES = 2_000;
const SEED = 20_250;

const made = searchCatalogue();
const key = testKey(1);

const reference = makeReferenceSearch(made.catalogue, made.platforms);
const queries = randomQueries(QUERIES, SEED, reference.games, made);
const proxy = await startProxy(await makeSnapshots(made.catalogue, [key]));

interface Answer {
  readonly step: string | undefined;
  readonly total: number;
  readonly ids: readonly string[];
}

async function ask(query: PagedQuery): Promise<Answer> {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, value);
  }
  const { status, headers, json } = await proxy.get(`/search?${parameters}`, key.key);
  expect(status, JSON.stringify(query)).toBe(200);
  const ids = json.data.map(({ id }: { id: number }) => String(id));
  return { step: headers['x-search-match'], total: json.total, ids };
}

function expected(query: PagedQuery): Answer {
  const { step, hits } = reference.search(query);
  const page = Number(query.page ?? 1);
  const perPage = Number(query.per_page ?? 50);
  const ids = hits.slice((page - 1) * perPage, page * perPage).map(({ id }) => id);
  return { step, total: hits.length, ids };
}

test(`agrees with the reference on ${QUERIES} random queries`, async () => {
  const differing: object[] = [];
  for (const query of queries) {
    const answer = await ask(query);
    const wanted = expected(query);
    if (JSON.stringify(answer) !== JSON.stringify(wanted))
      differing.push({ query, answer, wanted });
  }
  // Some of the first, so that one can see what they have in common.
  expect(differing.slice(0, 5), `${differing.length} queries differ`).toEqual([]);
});
