/**
 * Compares one serving thread with two on one port: two proxies with the same generation get the same
 * requests in turn. Both, and wrk, may use every core.
 */
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { type Measurement, measure } from '../http/load.ts';
import type { Core } from '../http/process.ts';
import { startProduct } from '../http/servers.ts';
import { type Memory, readMemory } from './memory.ts';
import type { Prepared } from './prepare.ts';

export const THREADS = [1, 2] as const;
export type Threads = (typeof THREADS)[number];
export const WRK_CONNECTIONS = 64;
const WARM_UP_SECONDS = 2;

export interface Run extends Measurement {
  /** The shares of the busiest and the next thread in the processor time of the process, 0 to 1. */
  readonly shares: readonly [busiest: number, next: number];
}

export interface Work {
  readonly title: string;
  readonly target: string;
  readonly list?: string;
  readonly runs: Record<Threads, Run[]>;
}

export interface ThreadsResult {
  readonly works: readonly Work[];
  /** Right after opening the generation, and after all load. */
  readonly memory: Record<Threads, { readonly opened: Memory; readonly loaded: Memory }>;
}

export async function measureThreads(
  prepared: Prepared,
  folder: string,
  core: Core,
  rounds: number,
  seconds: number,
  report: (text: string) => void,
): Promise<ThreadsResult> {
  const { game, games, searches } = prepared;
  const work = (title: string, target: string, list?: string): Work => ({
    ...{ title, target, runs: { 1: [], 2: [] } },
    ...(list === undefined ? {} : { list }),
  });
  const works = [
    work('one cached game', game),
    work('different games', game, games),
    work('`/search`, different queries', game, searches),
  ];
  const ends: (() => unknown)[] = [];
  const start = async (threads: Threads) => {
    const own = path.join(folder, `threads-${threads}`);
    mkdirSync(own, { recursive: true });
    const server = await startProduct(prepared, own, core, threads);
    ends.push(server.stop);
    return { ...server, opened: readMemory(server.pid) };
  };
  try {
    const servers = { 1: await start(1), 2: await start(2) };
    const measures = works.map(({ target, list }, index) => {
      // Each work has a key of its own, because together they would reach the limit.
      const headers = { 'X-Api-Key': prepared.keys[index] };
      // Each measurement continues the list, so that no address is repeated too soon.
      const starts = { 1: 0, 2: 0 };
      return async (threads: Threads, lasting: number): Promise<Run> => {
        const { url, pid } = servers[threads];
        const before = threadTicks(pid);
        const measurement = await measure(
          {
            ...{ url: url + target, headers, connections: WRK_CONNECTIONS, seconds: lasting },
            list: list === undefined ? undefined : { file: list, start: starts[threads] },
            ...{ core, serverCore: core },
          },
          [pid],
        );
        starts[threads] += measurement.requests;
        return { ...measurement, shares: sharesSince(before, threadTicks(pid)) };
      };
    });
    for (const measureWork of measures) {
      for (const threads of THREADS) await measureWork(threads, WARM_UP_SECONDS);
    }
    for (let round = 1; round <= rounds; round++) {
      for (const [index, { title, runs }] of works.entries()) {
        for (const threads of THREADS) {
          const run = await (measures[index] as (typeof measures)[0])(threads, seconds);
          if (run.refused > 0) throw new Error(`${run.refused} requests were refused: ${title}.`);
          runs[threads].push(run);
          report(
            `round ${round}: ${title}, ${threads} threads: ${run.cpu.toFixed(1)} µs, ${Math.round(run.perSecond)}/s`,
          );
        }
      }
    }
    const memoryOf = ({ pid, opened }: (typeof servers)[1]) => ({
      opened,
      loaded: readMemory(pid),
    });
    return { works, memory: { 1: memoryOf(servers[1]), 2: memoryOf(servers[2]) } };
  } finally {
    for (const end of ends.reverse()) await end();
  }
}

/** The processor time of each thread so far, in ticks. */
function threadTicks(pid: number): Map<string, number> {
  return new Map(
    readdirSync(`/proc/${pid}/task`).map((thread) => {
      const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8');
      // After the name, which may contain anything, the first field is field 3 of proc(5).
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return [thread, Number(fields[14 - 3]) + Number(fields[15 - 3])];
    }),
  );
}

function sharesSince(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
): readonly [number, number] {
  const spent = [...after]
    .map(([thread, ticks]) => ticks - (before.get(thread) ?? 0))
    .sort((a, b) => b - a);
  const all = spent.reduce((sum, ticks) => sum + ticks, 0);
  return [(spent[0] ?? 0) / all, (spent[1] ?? 0) / all];
}
