/**
 * Search: the product compared with MiniSearch and SQLite FTS5. All answer over HTTP, one query after the other,
 * so the times contain the same HTTP; the alternatives send only the paths of the games.
 */
import path from 'node:path';
import { Client } from 'undici';
import { CURRENT, MINISEARCH } from '../../format/layout.ts';
import { buildFts5 } from './alternatives/search.ts';
import {
  type Candidate,
  cell,
  type Findings,
  failureList,
  lazily,
  measureInTurn,
  medianOf,
  type Options,
  ratioOf,
  table,
  valuesOf,
} from './figures.ts';
import { PRODUCT, type Prepared } from './prepare.ts';
import { memoryOf } from './processes.ts';
import { makeSample, QUERY_SETS, type QuerySet, type Sample } from './queries.ts';
import { type Server, startAlternative, startProduct } from './servers.ts';

const FTS5 = 'SQLite FTS5';
const MINI_SEARCH = 'MiniSearch';
const QUERIES = 200;
/** Slow engines get fewer queries: at least this many, and more until the time is over. */
const LEAST_QUERIES = 10;
const SET_MS = 1000;
const MOST_SET_MS = 5000;
const LONGEST_QUERY_MS = 20_000;
const PER_PAGE = 50;

interface Set extends QuerySet {
  readonly engines: readonly string[];
}

export async function measureSearch(prepared: Prepared, options: Options): Promise<string> {
  const products = prepared.products.map(({ name }) => name);
  const loads = new Map<string, { seconds: number; memory: number }>();
  const starts = startsOf(prepared, loads);
  const all = [...starts.keys()];
  const enginesOf = (needs: QuerySet['needs']) => {
    if (needs === 'the product') return products;
    return needs === undefined ? all : all.filter((name) => name !== FTS5);
  };
  const sets = QUERY_SETS.flatMap((set): Set[] => {
    const plain = { ...set, engines: enginesOf(set.needs) };
    if (set.isSorted) return [plain];
    const make: QuerySet['make'] = (...of) => ({ ...set.make(...of), sort: 'relevance' });
    return [plain, { name: `${set.name}, by relevance`, engines: products, make }];
  });
  const sample = makeSample(prepared.games);
  const totals = new Map<string, readonly number[]>();
  const candidates = sets.flatMap((set, number) =>
    set.engines.map((engine): Candidate => {
      const start = starts.get(engine) as () => Promise<Server>;
      const measure = async (round: number) => {
        const { url, pids } = await start();
        const targets = targetsOf(set, sample, number, round);
        const answers = await ask(url, prepared.keys[0], targets);
        // The product is the first of each set.
        const key = `${number} ${round}`;
        if (engine === PRODUCT) totals.set(key, answers.totals);
        const wanted = totals.get(key) ?? [];
        // A slow engine answers only the first ones.
        const compared = answers.totals.slice(0, wanted.length);
        const differing = compared.filter((total, index) => total !== wanted[index]);
        return {
          ...percentiles(answers.times),
          different: (differing.length / compared.length) * 100,
          memory: memoryOf(pids, 'VmHWM'),
        };
      };
      return { name: nameOf(set, engine), measure };
    }),
  );
  const findings = await measureInTurn(candidates, options, { isWarmedUp: true });
  return describe(sets, all, loads, findings);
}

const nameOf = (set: QuerySet, engine: string) => `${set.name}: ${engine}`;

function startsOf(
  prepared: Prepared,
  loads: Map<string, { seconds: number; memory: number }>,
): Map<string, () => Promise<Server>> {
  const { products, gamesFile, folder } = prepared;
  const database = path.join(folder, 'fts5.db');
  const startEngine = (...words: string[]) => startAlternative(prepared, ['search.ts', ...words]);
  const starts: [engine: string, start: () => Promise<Server>][] = [
    ...products.map((product): (typeof starts)[number] => [
      product.name,
      () => startProduct(prepared, product),
    ]),
    [
      MINI_SEARCH,
      async () => {
        const index = path.join(await prepared.snapshotsOf(products[0]), CURRENT, MINISEARCH);
        return startEngine('minisearch', gamesFile, index);
      },
    ],
    [
      FTS5,
      async () => {
        buildFts5(gamesFile, database);
        return startEngine('fts5', gamesFile, database);
      },
    ],
  ];
  return new Map(
    starts.map(([engine, start]) => {
      const startAndMeasure = async () => {
        const server = await start();
        loads.set(engine, { seconds: server.startSeconds, memory: memoryOf(server.pids, 'VmRSS') });
        return server;
      };
      return [engine, lazily(startAndMeasure)];
    }),
  );
}

/** The queries of a round, which are others in each round. */
function targetsOf(set: QuerySet, sample: Sample, number: number, round: number): string[] {
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
  const times: number[] = [];
  const totals: number[] = [];
  try {
    const started = performance.now();
    for (const target of targets) {
      const began = performance.now();
      const reply = await client.request({
        ...{ method: 'GET', path: target, headers: { 'x-api-key': key } },
      });
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

function percentiles(times: readonly number[]) {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.ceil(sorted.length * share) - 1];
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}

function describe(
  sets: readonly Set[],
  all: readonly string[],
  loads: ReadonlyMap<string, { seconds: number; memory: number }>,
  findings: Findings,
): string {
  const others = all.filter((engine) => engine !== PRODUCT);
  const rowsOf = (engines: readonly string[], toCell: (set: Set, engine: string) => string) =>
    sets.map((set) => [
      set.name,
      ...engines.map((engine) => (set.engines.includes(engine) ? toCell(set, engine) : '–')),
    ]);
  const ratios = rowsOf(others, (set, engine) => {
    const name = nameOf(set, engine);
    const different = medianOf(findings, name, 'different');
    const ratio = cell(ratioOf(findings, name, nameOf(set, PRODUCT), 'p50'));
    return different > 0 ? `${ratio} (${Math.ceil(different)})` : ratio;
  });
  const times = rowsOf(all, (set, engine) => {
    const figures = ['p50', 'p99'].map((figure) => medianOf(findings, nameOf(set, engine), figure));
    const max = Math.max(...valuesOf(findings, nameOf(set, engine), 'max'));
    return Number.isNaN(figures[0]) ? 'failed' : [...figures, max].map(cell).join(' / ');
  });
  const costs = all.map((engine) => {
    const { seconds = Number.NaN, memory = Number.NaN } = loads.get(engine) ?? {};
    const peaks = sets.flatMap((set) => valuesOf(findings, nameOf(set, engine), 'memory'));
    const peak = peaks.length === 0 ? Number.NaN : Math.max(...peaks);
    return [engine, cell(seconds), cell(memory), cell(peak)];
  });
  return (
    [
      'Time of the others ÷ that of the product, at p50. In brackets: in how many of 100 answers the number of found games differs; the product also finds readings, such as those of kana.',
      table(
        ['÷ product', ...others],
        ratios.filter(([, ...cells]) => cells.some((text) => text !== '–')),
      ),
      'Milliseconds over HTTP: p50 / p99 (medians of the rounds) / longest (of all rounds).',
      table(['', ...all], times),
      'Seconds from the start of the process until it answers, and the resident memory of the whole process then and at its peak. FTS5 maps its file.',
      table(['', 'loads in, s', 'loaded, MB', 'peak, MB'], costs),
    ].join('\n\n') + failureList(findings)
  );
}
