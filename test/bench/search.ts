/**
 * Search: the product compared with SQLite FTS5. Both answer over HTTP, one query after the other, so the times
 * contain the same HTTP; FTS5 sends only the paths of the games.
 */
import path from 'node:path';
import { Client } from 'undici';
import { buildFts5 } from './alternatives/search.ts';
import {
  type Candidate,
  cell,
  crossRows,
  type Findings,
  failureList,
  lazily,
  measureInTurn,
  medianOf,
  nameOf,
  type Options,
  PRODUCT,
  ratioOf,
  table,
  valuesOf,
} from './figures.ts';
import type { Prepared } from './prepare.ts';
import { memoryOf } from './processes.ts';
import { makeSample, QUERY_SETS, type QuerySet, type Sample } from './queries.ts';
import { productStarts, type Starts, startAlternative } from './servers.ts';

const FTS5 = 'SQLite FTS5';
const QUERIES = 200;
/** Slow engines get fewer queries: at least this many, and more until the time is over. */
const LEAST_QUERIES = 10;
const SET_MS = 1000;
const MOST_SET_MS = 5000;
const LONGEST_QUERY_MS = 20_000;
const PER_PAGE = 50;

export async function measureSearch(prepared: Prepared, options: Options): Promise<string> {
  const { gamesFile, keys } = prepared;
  const database = path.join(prepared.folder, 'fts5.db');
  const starts: Starts = {
    ...productStarts(prepared),
    [FTS5]: lazily(async () => {
      buildFts5(gamesFile, database);
      return startAlternative(prepared, ['search.ts', database]);
    }),
  };
  const all = Object.keys(starts);
  const sample = makeSample(prepared.games);
  const totals = new Map<string, readonly number[]>();
  const candidates = QUERY_SETS.flatMap((set, number) => {
    const able = all.filter((engine) => engine !== FTS5 || set.needs === 'words');
    return able.map((engine): Candidate => {
      const measure = async (round: number) => {
        const { url, pids, loading } = await starts[engine]();
        const answers = await ask(url, keys[0], targetsOf(set, sample, number, round));
        // The product is the first of each set. A slow engine answers only the first queries.
        const key = `${number} ${round}`;
        if (engine === PRODUCT) totals.set(key, answers.totals);
        const wanted = totals.get(key) ?? [];
        const compared = answers.totals.slice(0, wanted.length);
        const differing = compared.filter((total, index) => total !== wanted[index]);
        const different = (differing.length / compared.length) * 100;
        const peak = memoryOf(pids, 'VmHWM');
        return { ...percentiles(answers.times), different, peak, ...loading };
      };
      return { name: nameOf(set.name, engine), measure };
    });
  });
  return describe(all, await measureInTurn(candidates, options, { isWarmedUp: true }));
}

/** The queries of a round, which are others in each round. */
export function targetsOf(set: QuerySet, sample: Sample, number: number, round: number): string[] {
  sample.random.start(round, number, 0);
  const targets = Array.from({ length: QUERIES }, (_, index) => {
    // Other pages than in other rounds: a response that was sent before may be in a cache.
    const parameters = { ...set.make(sample, index), per_page: String(PER_PAGE - round) };
    return `/api/v1/search?${new URLSearchParams(parameters)}`;
  });
  return [...new Set(targets)];
}

/** Asks one query after the other, over one connection. @returns milliseconds, and how many games were found */
async function ask(url: string, key: string, targets: readonly string[]) {
  const client = new Client(url, { headersTimeout: LONGEST_QUERY_MS });
  const headers = { 'x-api-key': key };
  const times: number[] = [];
  const totals: number[] = [];
  try {
    const started = performance.now();
    for (const target of targets) {
      const began = performance.now();
      const reply = await client.request({ method: 'GET', path: target, headers });
      const text = await reply.body.text();
      const ended = performance.now();
      if (reply.statusCode !== 200) throw new Error(`${target}: ${reply.statusCode} ${text}`);
      times.push(ended - began);
      totals.push(JSON.parse(text).total);
      const spent = ended - started;
      if (spent > MOST_SET_MS || (spent > SET_MS && times.length >= LEAST_QUERIES)) break;
    }
  } finally {
    await client.destroy();
  }
  return { times, totals };
}

export function percentiles(times: readonly number[]) {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.ceil(sorted.length * share) - 1];
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}

function describe(all: readonly string[], findings: Findings): string {
  const others = all.filter((engine) => engine !== PRODUCT);
  const sets = QUERY_SETS.map(({ name }) => name);
  const ratios = crossRows(findings, sets, others, (name, product) => {
    const different = medianOf(findings, name, 'different');
    const ratio = cell(ratioOf(findings, name, product, 'p50'));
    return different > 0 ? `${ratio} (${Math.ceil(different)})` : ratio;
  });
  const times = crossRows(findings, sets, all, (name) => {
    const [p50, p99] = ['p50', 'p99'].map((figure) => medianOf(findings, name, figure));
    if (Number.isNaN(p50)) return 'failed';
    return [p50, p99, Math.max(...valuesOf(findings, name, 'max'))].map(cell).join(' / ');
  });
  const costs = all.map((engine) => {
    const names = sets.map((set) => nameOf(set, engine));
    const [load, loaded] = ['load', 'loaded'].map((one) => medianOf(findings, names[0], one));
    const peaks = names.flatMap((name) => valuesOf(findings, name, 'peak'));
    return [engine, ...[load, loaded, Math.max(...peaks)].map(cell)];
  });
  return [
    'Time of the others ÷ that of the product, at p50. In brackets: in how many of 100 answers the number of found games differs; the product also finds variants, such as those of kana.',
    table(['÷ product', ...others], ratios),
    'Milliseconds over HTTP: p50 / p99 (medians of the rounds) / longest (of all rounds).',
    table(['', ...all], times),
    'Seconds from the start of the process until it answers, and the resident memory of the whole process then and at its peak. FTS5 maps its file.',
    table(['', 'loads in, s', 'loaded, MB', 'peak, MB'], costs),
    failureList(findings),
  ].join('\n\n');
}
