/**
 * Reads the judged queries. README.md specifies their files; a line that does not follow it throws,
 * and so does a query that appears twice or in the wrong half.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { crc32 } from 'node:zlib';

export interface JudgedQuery {
  /** The kind of difficulty, such as "typing errors". */
  readonly kind: string;
  readonly q: string;
  /** `<platform slug>/<game slug>` of the games of which any counts as found. */
  readonly wanted: readonly string[];
}

export const JUDGED_CATALOGUES = ['sample', 'real'] as const;
export type JudgedCatalogue = (typeof JUDGED_CATALOGUES)[number];
export const HALVES = ['tuning', 'held-out'] as const;
export type Half = (typeof HALVES)[number];

const GAME = /^[a-z0-9-]+\/[a-z0-9-]+$/;

/** The half of a query depends on its text alone, so nobody chooses it. */
export function halfOf(q: string): Half {
  return crc32(q) % 2 === 0 ? 'tuning' : 'held-out';
}

/** @returns the queries of one half in the order of its file */
export function readJudgedQueries(catalogue: JudgedCatalogue, half: Half): JudgedQuery[] {
  const name = `${catalogue}.${half}.txt`;
  const text = readFileSync(path.join(import.meta.dirname, name), 'utf8');
  return parseJudgedQueries(text, half, name);
}

/** @param name of the file, for errors */
export function parseJudgedQueries(text: string, half: Half, name: string): JudgedQuery[] {
  const queries: JudgedQuery[] = [];
  const known = new Set<string>();
  let kind: string | undefined;
  for (const [index, line] of text.split('\n').entries()) {
    const refuse = (why: string): never => {
      throw new Error(`${name}, line ${index + 1}: ${why}: ${line}`);
    };
    if (line === '') continue;
    if (line.startsWith('= ')) {
      kind = line.slice(2);
      continue;
    }
    const separator = line.lastIndexOf(' | ');
    if (kind === undefined || separator < 1) return refuse('expected "= kind" or "query | games"');
    const q = line.slice(0, separator);
    const wanted = line.slice(separator + 3).split(' ');
    if (!wanted.every((game) => GAME.test(game))) return refuse('expected platform/game after |');
    if (known.has(q)) return refuse('the query appears twice');
    if (halfOf(q) !== half) return refuse(`the query belongs to ${halfOf(q)}`);
    known.add(q);
    queries.push({ kind, q, wanted });
  }
  return queries;
}
