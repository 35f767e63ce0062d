/** The engines whose answers are judged, the product first. */
import type { JudgedEntry } from './engine.ts';
import { openFuse, openMiniSearch, openOrama } from './libraries.ts';
import { openProduct } from './product.ts';
import { openFts5, openMariaDb } from './sql.ts';

export const JUDGED_ENGINES = {
  product: {
    name: 'product',
    note: 'over HTTP, `sort=relevance` if the proxy knows it.',
    open: openProduct,
  },
  minisearch: {
    name: 'MiniSearch',
    note: 'any word, each as a prefix, `fuzzy: 0.2`, `boost: { title: 2 }`, `boostDocument` by covers.',
    open: openMiniSearch,
  },
  fuse: {
    name: 'Fuse.js',
    note: '`useTokenSearch`, any word, `threshold: 0.3`, the platform with a weight of 0.3.',
    open: openFuse,
  },
  orama: {
    name: 'Orama',
    note: '`boost: { title: 2 }`; every word, then every word with `tolerance: 1`, then any word.',
    open: openOrama,
  },
  fts5: {
    name: 'SQLite FTS5',
    note: 'any trigram of the query (`tokenize=trigram`), `bm25()` weighted by covers; any word for queries without a trigram.',
    open: openFts5,
  },
  mariadb: {
    name: 'MariaDB FULLTEXT',
    note: 'InnoDB in boolean mode with words of one letter and more, every word and the last as a prefix, then any word as a prefix; its score divided by the length of the title and weighted by covers.',
    open: openMariaDb,
  },
} as const satisfies Record<string, JudgedEntry>;

export type JudgedEngineId = keyof typeof JUDGED_ENGINES;
export const JUDGED_ENGINE_IDS = Object.keys(JUDGED_ENGINES) as JudgedEngineId[];
