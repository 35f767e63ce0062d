/** FlexSearch and Orama, which keep everything in memory. Both are loaded if they are installed. */
import {
  foldCase,
  MOST_WORDS,
  nearSpellingDistance,
  wordsOf,
} from '../../../format/index/words.ts';
import { readDocuments } from './documents.ts';
import { type Engine, readFacts } from './engine.ts';
import { PER_PAGE } from './queries.ts';

// Their own types do not exist before they are installed.
interface FlexSearch {
  Index: new (
    options: object,
  ) => {
    add(id: number, content: string): void;
    search(query: string, options: { limit: number }): number[];
  };
}
interface Orama {
  create(options: object): object;
  insertMultiple(database: object, documents: object[], batchSize: number): Promise<unknown>;
  search(database: object, query: object): Found | Promise<Found>;
}
interface Found {
  readonly count: number;
  readonly hits: readonly { readonly document: { readonly rank: number } }[];
}

const firstWords = (q: string) => wordsOf(q).slice(0, MOST_WORDS);
const BATCH = 5000;

export async function load<T>(name: string): Promise<T> {
  try {
    return (await import(name)) as T;
  } catch (cause) {
    throw new Error(`${name} is not installed`, { cause });
  }
}

/** Its index contains every prefix of every word. The caller filters. */
export async function openFlexSearch(folder: string): Promise<Engine> {
  const { Index } = await load<FlexSearch>('flexsearch');
  const started = performance.now();
  const facts = readFacts(folder);
  // One class of relevance, because the order is by title anyway.
  const index = new Index({ tokenize: 'forward', resolution: 1, encode: wordsOf, cache: false });
  let rank = 0;
  for (const { title } of readDocuments(folder)) index.add(rank++, title);
  const buildSeconds = (performance.now() - started) / 1000;
  return {
    buildSeconds,
    find(query) {
      const q = firstWords(query.q as string).join(' ');
      let ranks = index.search(q, { limit: facts.games });
      const passes = facts.passes(query);
      if (passes !== undefined) ranks = ranks.filter(passes);
      return facts.pageOf(query, ranks);
    },
    close: () => {},
  };
}

/** It filters, sorts and paginates itself. */
export async function openOrama(folder: string): Promise<Engine> {
  const { create, insertMultiple, search } = await load<Orama>('@orama/orama');
  const started = performance.now();
  const database = create({
    schema: {
      title: 'string',
      rank: 'number',
      newest: 'number',
      platform: 'enum',
      regions: 'enum[]',
      types: 'enum[]',
    },
    components: {
      tokenizer: { language: 'english', normalizationCache: new Map(), tokenize: wordsOf },
    },
    sort: { unsortableProperties: ['title', 'platform'] },
  });
  let batch: object[] = [];
  let rank = 0;
  const flush = async () => {
    await insertMultiple(database, batch, BATCH);
    batch = [];
  };
  for (const { title, platform, year, regions, types } of readDocuments(folder)) {
    const facts = { platform: foldCase(platform), regions, types };
    // Games of the same year must be in title order, so one number combines year and rank.
    batch.push({ title, rank, newest: (10_000 - (year ?? 0)) * 2 ** 24 + rank, ...facts });
    rank++;
    if (batch.length === BATCH) await flush();
  }
  await flush();
  const buildSeconds = (performance.now() - started) / 1000;
  return {
    buildSeconds,
    async find({ q = '', platform, region, type, sort, page = 1 }) {
      const where: Record<string, object> = {};
      if (platform !== undefined) where.platform = { eq: foldCase(platform) };
      if (region !== undefined) where.regions = { containsAll: [foldCase(region)] };
      if (type !== undefined) where.types = { containsAll: [foldCase(type)] };
      const words = firstWords(q);
      const searchWith = (tolerance: number) =>
        search(database, {
          term: words.join(' '),
          properties: ['title'],
          // Every word must be in the title.
          threshold: 0,
          tolerance,
          ...(Object.keys(where).length > 0 ? { where } : {}),
          sortBy: { property: sort === undefined ? 'rank' : 'newest', order: 'ASC' },
          limit: PER_PAGE,
          offset: (page - 1) * PER_PAGE,
        });
      let found = await searchWith(0);
      const distance = Math.max(0, ...words.map(nearSpellingDistance));
      if (found.count === 0 && distance > 0) found = await searchWith(distance);
      return { total: found.count, ranks: found.hits.map(({ document }) => document.rank) };
    },
    close: () => {},
  };
}
