/** The interface of an engine in the search benchmark, and code that in-memory engines share. */
import { readFileSync } from 'node:fs';
import { foldCase } from '../../../format/index/words.ts';
import { readDocuments } from './documents.ts';
import { type Demand, PER_PAGE } from './queries.ts';
import type { TitleQuery } from './query-words.ts';

/** The ranks of one page, and the total number of games. */
export interface Answer {
  readonly total: number;
  readonly ranks: readonly number[];
}

export interface Engine {
  find(query: TitleQuery): Answer | Promise<Answer>;
  /** How long it takes to build its index, in seconds; undefined if it only loads one. */
  readonly buildSeconds?: number;
  /** The process that holds the index, if it is not this one. */
  readonly pid?: number;
  /** The memory of that process before the index was built, in bytes. */
  readonly memoryBefore?: number;
  close(): void | Promise<void>;
}

/** @param folder of `prepareDocuments` */
export type OpenEngine = (folder: string) => Engine | Promise<Engine>;

export interface EngineEntry {
  readonly name: string;
  /** The demands that it cannot fulfil. */
  readonly cannot: readonly Demand[];
  /** Its configuration and its differences, in a sentence or two. */
  readonly note: string;
  /** Its index is stored in the folder, so it is opened twice to measure opening alone. */
  readonly isStored?: true;
  readonly open: OpenEngine;
}

/** The data by rank that filters and sorts need, for libraries that do not store it. */
export interface Facts {
  readonly games: number;
  readonly rankOfPath: ReadonlyMap<string, number>;
  /** Tells whether the game of a rank passes the filters; undefined if there are none. */
  passes(query: TitleQuery): ((rank: number) => boolean) | undefined;
  /** Sorts the ranks as requested and cuts out the page. Changes `ranks`. */
  pageOf(query: TitleQuery, ranks: number[]): Answer;
}

export function readFacts(folder: string): Facts {
  const platforms: string[] = [];
  const years: number[] = [];
  const genres: string[] = [];
  const regions: (readonly string[])[] = [];
  const types: (readonly string[])[] = [];
  const rankOfPath = new Map<string, number>();
  const texts = new Map<string, string>();
  // Equal texts share one string.
  const same = (text: string) => {
    const known = texts.get(text);
    if (known === undefined) texts.set(text, text);
    return known ?? text;
  };
  for (const document of readDocuments(folder)) {
    rankOfPath.set(document.path, platforms.length);
    platforms.push(same(foldCase(document.platform)));
    years.push(document.year ?? Number.NEGATIVE_INFINITY);
    genres.push(same(foldCase(document.genres ?? '')));
    regions.push(document.regions.map(same));
    types.push(document.types.map(same));
  }
  return {
    games: platforms.length,
    rankOfPath,
    passes({ platform, region, type, genre }) {
      const tests: ((rank: number) => boolean)[] = [];
      if (platform !== undefined) tests.push((rank) => platforms[rank] === foldCase(platform));
      if (region !== undefined) tests.push((rank) => holds(regions, rank, foldCase(region)));
      if (type !== undefined) tests.push((rank) => holds(types, rank, foldCase(type)));
      if (genre !== undefined) {
        const part = foldCase(genre);
        tests.push((rank) => (genres[rank] as string).includes(part));
      }
      if (tests.length < 2) return tests[0];
      return (rank) => tests.every((test) => test(rank));
    },
    pageOf({ sort, page }, ranks) {
      const start = ((page ?? 1) - 1) * PER_PAGE;
      const byTitle = Uint32Array.from(ranks).sort();
      if (sort === undefined) {
        return { total: ranks.length, ranks: [...byTitle.subarray(start, start + PER_PAGE)] };
      }
      const byYear = [...byTitle].sort((a, b) => {
        const [left, right] = [years[a], years[b]];
        return left === right ? a - b : right - left;
      });
      return { total: ranks.length, ranks: byYear.slice(start, start + PER_PAGE) };
    },
  };
}

function holds(lists: readonly (readonly string[])[], rank: number, value: string): boolean {
  return (lists[rank] as readonly string[]).includes(value);
}

/** The resident memory of a process, in bytes. */
export function residentBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}
