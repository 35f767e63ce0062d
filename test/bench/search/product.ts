/** The product's search, run like in the proxy, and MiniSearch over the same generation. */
import { closeSync, readFileSync } from 'node:fs';
import path from 'node:path';
import MiniSearch, { type Query, type SearchOptions } from 'minisearch';
import { MINISEARCH_OPTIONS } from '../../../format/index/minisearch-options.ts';
import { nearSpellingDistance } from '../../../format/index/words.ts';
import { pagingOf } from '../../../proxy/api/parameters/paging.ts';
import { readParameters } from '../../../proxy/api/parameters/read-parameters.ts';
import { searchOf } from '../../../proxy/api/parameters/search.ts';
import { SEARCH_PARAMETERS } from '../../../proxy/api/routes/search.ts';
import { makeGeneration } from '../../../proxy/snapshot/generation.ts';
import { openFiles } from '../../../proxy/snapshot/open-files.ts';
import { generationIn } from './documents.ts';
import { type Engine, readFacts } from './engine.ts';
import type { TitleQuery } from './query-words.ts';

/** Makes the query string of a request. Clients do that, so it is not measured. */
export function queryStringOf({ page, ...values }: TitleQuery): string {
  const parameters = new URLSearchParams(values as Record<string, string>);
  if (page !== undefined) parameters.set('page', String(page));
  return String(parameters);
}

/** Opens the product's search, which goes from the raw query string to the games of the page. */
export async function openProduct(
  folder: string,
): Promise<Engine & { queryOf: typeof queryStringOf }> {
  const dir = generationIn(folder);
  const files = openFiles({ dir, id: path.basename(dir) });
  const generation = makeGeneration(files);
  const { gameOfRank } = generation.index.games;
  const texts = new WeakMap<TitleQuery, string>();
  const queryOf = (query: TitleQuery) => {
    const text = texts.get(query) ?? queryStringOf(query);
    texts.set(query, text);
    return text;
  };
  return {
    queryOf,
    find(query) {
      const parameters = readParameters(queryOf(query), SEARCH_PARAMETERS);
      const { page, perPage } = pagingOf(parameters);
      const hits = generation.search.find(searchOf(parameters), (page - 1) * perPage, perPage);
      for (const rank of hits.ranks) if (gameOfRank[rank] === undefined) throw new Error('no game');
      return hits;
    },
    close: () => files.descriptors.forEach(closeSync),
  };
}

export function openMiniSearch(folder: string): Engine {
  const text = readFileSync(path.join(generationIn(folder), 'search.json'), 'utf8');
  const index = MiniSearch.loadJSON<{ path: string; title: string }>(text, MINISEARCH_OPTIONS);
  const facts = readFacts(folder);
  const exact: SearchOptions = {
    combineWith: 'AND',
    prefix: (_, index, terms) => index === terms.length - 1,
  };
  const near: SearchOptions = { ...exact, fuzzy: (term) => nearSpellingDistance(term) };
  return {
    find(query) {
      const passes = facts.passes(query);
      const kept: SearchOptions =
        passes === undefined
          ? {}
          : { filter: ({ id }) => passes(facts.rankOfPath.get(id) as number) };
      const q: Query = query.q ?? MiniSearch.wildcard;
      let found = index.search(q, { ...exact, ...kept });
      if (found.length === 0 && query.q !== undefined) {
        // Near spellings are tried only if no title matches, regardless of the filters.
        const isFound = passes !== undefined && index.search(q, exact).length > 0;
        if (!isFound) found = index.search(q, { ...near, ...kept });
      }
      const ranks = found.map(({ id }) => facts.rankOfPath.get(id) as number);
      return facts.pageOf(query, ranks);
    },
    close: () => {},
  };
}
