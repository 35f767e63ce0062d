/** MiniSearch, Fuse.js and Orama, each in the configuration that did best on the tuning halves. */
import MiniSearch from 'minisearch';
import { LOOKED_AT } from '../../../proxy/search/judged/quality.ts';
import { load } from '../libraries.ts';
import {
  COVERS_WEIGHT,
  type Entry,
  foldedWords,
  type JudgedEngine,
  readEntries,
} from './engine.ts';

// Their own types do not exist before they are installed.
interface FuseModule {
  default: new (
    entries: readonly Entry[],
    options: object,
  ) => { search(q: string, options: { limit: number }): { readonly item: Entry }[] };
}
interface OramaModule {
  create(options: object): object;
  insertMultiple(database: object, entries: readonly object[], batch: number): Promise<unknown>;
  search(database: object, query: object): Promise<OramaHits> | OramaHits;
}
interface OramaHits {
  readonly hits: readonly { readonly document: { readonly path: string } }[];
}

const BATCH = 5000;
const FIELDS = ['title', 'slug', 'platform'];
const split = (text: string): string[] => (text === '' ? [] : text.split(' '));

/**
 * Any word of the query is enough: if all are required, success at 5 falls from 76 % to 57 % of the
 * tuning half over the real catalogue.
 */
export function openMiniSearch(folder: string): JudgedEngine {
  const index = new MiniSearch<Entry>({
    idField: 'path',
    fields: FIELDS,
    storeFields: ['covers'],
    tokenize: split,
    processTerm: (term) => term,
  });
  index.addAll(readEntries(folder));
  return {
    find: (q) =>
      index
        .search(foldedWords(q), {
          combineWith: 'OR',
          prefix: true,
          fuzzy: 0.2,
          boost: { title: 2 },
          boostDocument: (_id, _term, stored) =>
            1 + COVERS_WEIGHT * Math.log1p(Number(stored?.covers)),
        })
        .slice(0, LOOKED_AT)
        .map(({ id }) => id),
    close: () => {},
  };
}

/** Its search by words scores far better than its comparison of whole texts. */
export async function openFuse(folder: string): Promise<JudgedEngine> {
  const { default: Fuse } = await load<FuseModule>('fuse.js');
  const index = new Fuse(readEntries(folder), {
    keys: [
      { name: 'title', weight: 1 },
      { name: 'platform', weight: 0.3 },
    ],
    useTokenSearch: true,
    tokenize: split,
    threshold: 0.3,
    ignoreLocation: true,
  });
  return {
    find: (q) => index.search(foldedWords(q), { limit: LOOKED_AT }).map(({ item }) => item.path),
    close: () => {},
  };
}

/** Its near spellings score like exact ones, so they are tried only if no game has every word. */
export async function openOrama(folder: string): Promise<JudgedEngine> {
  const { create, insertMultiple, search } = await load<OramaModule>('@orama/orama');
  const database = create({
    schema: { title: 'string', slug: 'string', platform: 'string' },
    sort: { enabled: false },
    components: {
      tokenizer: { language: 'english', normalizationCache: new Map(), tokenize: split },
    },
  });
  const entries = readEntries(folder);
  for (let start = 0; start < entries.length; start += BATCH) {
    await insertMultiple(database, entries.slice(start, start + BATCH), BATCH);
  }
  const steps = [
    { threshold: 0, tolerance: 0 },
    { threshold: 0, tolerance: 1 },
    { threshold: 1, tolerance: 0 },
  ];
  return {
    async find(q) {
      for (const step of steps) {
        const query = { term: foldedWords(q), limit: LOOKED_AT, boost: { title: 2 }, ...step };
        const { hits } = await search(database, query);
        if (hits.length > 0) return hits.map(({ document }) => document.path);
      }
      return [];
    },
    close: () => {},
  };
}
