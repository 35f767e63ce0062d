/**
 * The search part: compares the product with its alternatives. For times, each runs in a process of
 * its own over the same titles, and they get the same queries in turn; this is all that the file
 * does when it is run alone. The quality of their answers is measured in `search/quality.ts`.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import type { PartOptions } from './part.ts';
import { prepareDocuments, REAL_GAMES, readDocuments } from './search/documents.ts';
import { ENGINE_IDS, ENGINES, type EngineId } from './search/engines.ts';
import { type EngineProcess, type Opened, startEngine, type Timed } from './search/process.ts';
import { measureQuality } from './search/quality.ts';
import { type Demand, makeQuerySets, type QuerySet } from './search/queries.ts';
import { describeAlone, describeSize } from './search/tables.ts';
import { measureTyping } from './search/typing.ts';

export interface SearchOptions extends Partial<Omit<PartOptions, 'rounds'>> {
  readonly rounds: number;
  /** Games of each catalogue. */
  readonly sizes?: readonly number[];
  /** The folder in which catalogues are kept for another run; by default a temporary folder. */
  readonly folder?: string;
  readonly engines?: readonly EngineId[];
}

/** What was measured at one size. */
export interface SizeResult {
  readonly games: number;
  readonly titles: string;
  readonly sets: readonly QuerySet[];
  readonly opened: ReadonlyMap<EngineId, Opened>;
  /** Megabytes after all queries. */
  readonly memoryAfter: ReadonlyMap<EngineId, number>;
  /** Why an engine was left out. */
  readonly leftOut: ReadonlyMap<EngineId, string>;
  /** By engine and set, one entry per round. The first is the pass before the rounds. */
  readonly timed: ReadonlyMap<EngineId, ReadonlyMap<string, readonly Round[]>>;
}

export interface Round {
  readonly set: QuerySet;
  readonly timed: Timed;
}

const SIZES = [REAL_GAMES, 300_000, 1_000_000];
/** The product's goals are relative to MiniSearch. Others get what a server could spare. */
const HEAP_MB: Partial<Record<EngineId, number>> = { minisearch: 9000 };
const DEFAULT_HEAP_MB = 4096;
const LONGEST_OPENING = 150;
/** The number of queries in the pass before the rounds, in which engines warm up. */
const WARMING_QUERIES = 5;

/** @returns Markdown: times, ratios first, then quality; headings from "###" on */
export async function run(options: PartOptions): Promise<string> {
  const quality = await measureQuality({ report: options.report });
  return `${await measureTimes(options)}\n\n${quality}`;
}

async function measureTimes(options: SearchOptions): Promise<string> {
  const { rounds, sizes = SIZES, engines = ENGINE_IDS } = options;
  const report = options.report ?? (() => {});
  const root = options.folder ?? mkdtempSync(path.join(tmpdir(), 'cover-bench-'));
  try {
    const sections: string[] = [];
    for (const games of sizes) {
      const folder = path.join(root, String(games));
      mkdirSync(folder, { recursive: true });
      sections.push(describeSize(await measureSize(folder, games, rounds, engines, report)));
      // Also measured alone, because work that other engines do after an answer can delay the product.
      sections.push(describeAlone(await measureSize(folder, games, rounds, ['product'], report)));
      report(`${games} games: as one types …`);
      sections.push(await measureTyping(folder, [...readDocuments(folder)]));
      if (options.folder === undefined) rmSync(folder, { recursive: true, force: true });
    }
    return [...sections, describeEngines()].join('\n\n');
  } finally {
    if (options.folder === undefined) rmSync(root, { recursive: true, force: true });
  }
}

async function measureSize(
  folder: string,
  games: number,
  rounds: number,
  engines: readonly EngineId[],
  report: (text: string) => void,
): Promise<SizeResult> {
  report(`${games} games: generating …`);
  const titles = await prepareDocuments(folder, games);
  const seeds = Array.from({ length: rounds + 1 }, (_, round) => round + 1);
  const setsOfRounds = makeQuerySets([...readDocuments(folder)], seeds);
  const running = new Map<EngineId, EngineProcess>();
  const opened = new Map<EngineId, Opened>();
  const memoryAfter = new Map<EngineId, number>();
  const leftOut = new Map<EngineId, string>();
  const timed = new Map<EngineId, Map<string, Round[]>>();
  const leave = async (id: EngineId, error: unknown) => {
    leftOut.set(id, (error as Error).message);
    report(`${games} games: ${ENGINES[id].name} is left out: ${(error as Error).message}`);
    await running.get(id)?.close();
    running.delete(id);
  };
  try {
    for (const id of engines) {
      report(`${games} games: opening ${ENGINES[id].name} …`);
      try {
        const start = () =>
          startEngine(id, folder, HEAP_MB[id] ?? DEFAULT_HEAP_MB, LONGEST_OPENING);
        if ('isStored' in ENGINES[id]) await (await start()).close();
        const engine = await start();
        running.set(id, engine);
        opened.set(id, engine.opened);
        timed.set(id, new Map());
      } catch (error) {
        await leave(id, error);
      }
    }
    for (const [round, sets] of setsOfRounds.entries()) {
      report(`${games} games: ${round === 0 ? 'warming' : `round ${round} of ${rounds}`} …`);
      for (const set of sets) {
        for (const [id, engine] of running) {
          const cannot: readonly Demand[] = ENGINES[id].cannot;
          if (set.demands.some((demand) => cannot.includes(demand))) continue;
          const isWarming = round === 0 && id !== 'product';
          const limited = isWarming
            ? { ...set, queries: set.queries.slice(0, WARMING_QUERIES) }
            : set;
          try {
            const found = { set: limited, timed: await engine.run(limited) };
            const ofEngine = timed.get(id) as Map<string, Round[]>;
            ofEngine.set(set.name, [...(ofEngine.get(set.name) ?? []), found]);
          } catch (error) {
            await leave(id, error);
          }
        }
      }
    }
    for (const [id, engine] of running) memoryAfter.set(id, await engine.memory());
  } finally {
    for (const engine of running.values()) await engine.close();
  }
  return {
    games,
    titles,
    sets: setsOfRounds[0] as QuerySet[],
    opened,
    memoryAfter,
    leftOut,
    timed,
  };
}

function describeEngines(): string {
  const lines = ENGINE_IDS.map((id) => `- ${ENGINES[id].name}: ${ENGINES[id].note}`);
  return `### How each was set up\n\n${lines.join('\n')}`;
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '3' },
      sizes: { type: 'string', default: SIZES.join() },
      folder: { type: 'string' },
      engines: { type: 'string', default: ENGINE_IDS.join() },
    },
  });
  const { folder } = values;
  const markdown = await measureTimes({
    rounds: Number(values.rounds),
    sizes: values.sizes.split(',').map(Number),
    engines: values.engines.split(',') as EngineId[],
    ...(folder === undefined ? {} : { folder }),
    report: (text) => process.stderr.write(`${text}\n`),
  });
  process.stdout.write(`${markdown}\n`);
}
