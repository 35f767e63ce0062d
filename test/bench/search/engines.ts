/** The engines of the search benchmark, the product first. */
import type { EngineEntry } from './engine.ts';
import { openFlexSearch, openOrama } from './libraries.ts';
import { openMiniSearch, openProduct } from './product.ts';
import { openFts5, openMariaDb } from './sql.ts';

export const ENGINES = {
  product: {
    name: 'product',
    cannot: [],
    note: 'from the raw query string to the games of the page; opens, hashes and checks the whole generation.',
    open: openProduct,
  },
  minisearch: {
    name: 'MiniSearch',
    cannot: ['joined', 'relevance'],
    note: "`search()` on the generation's `search.json`, all words, the last as a prefix, near spellings if nothing matches, `filter` by rank; then sorted by title or year.",
    open: openMiniSearch,
  },
  fts5: {
    name: 'SQLite FTS5',
    cannot: ['near', 'joined', 'relevance'],
    note: 'contentless, `detail=none`, `prefix="1 2 3"`, row id = rank, filters in indexed tables, memory-mapped; a page and a `count(*)`.',
    isStored: true,
    open: openFts5,
  },
  mariadb: {
    name: 'MariaDB FULLTEXT',
    cannot: ['near', 'joined', 'relevance'],
    note: 'InnoDB in boolean mode without stop words, 2 GiB of buffer pool, over loopback; words of fewer than three letters are not in its index and are removed from the query unless they are the last word; a page and a `count(*)`.',
    open: openMariaDb,
  },
  flexsearch: {
    name: 'FlexSearch',
    cannot: ['near', 'joined', 'no words', 'relevance'],
    note: '`tokenize: "forward"`: every word is a prefix, not just the last; the caller filters and sorts.',
    open: openFlexSearch,
  },
  orama: {
    name: 'Orama',
    cannot: ['joined', 'genre', 'relevance'],
    note: 'every word is a prefix, not just the last; one `tolerance` for all words; enum filters, `sortBy`.',
    open: openOrama,
  },
} as const satisfies Record<string, EngineEntry>;

export type EngineId = keyof typeof ENGINES;
export const ENGINE_IDS = Object.keys(ENGINES) as EngineId[];
