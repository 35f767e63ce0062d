/**
 * The process of one engine: opens it, then runs query sets on request, one query after another.
 * Nothing else runs in it, so its memory and the pauses of its event loop are those of the engine.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { type Answer, type Engine, residentBytes } from './engine.ts';
import { ENGINES, type EngineId } from './engines.ts';
import type { QuerySet } from './queries.ts';
import type { TitleQuery } from './query-words.ts';

export interface Opened {
  readonly openSeconds: number;
  readonly buildSeconds: number | undefined;
  readonly memoryMb: number;
}

export interface Timed {
  /** In milliseconds, one entry per query. */
  readonly times: readonly number[];
  /**
   * The fastest of five repetitions of the slowest queries, by index. It tells slow queries from
   * delayed ones. An engine with a cache of queries is faster here.
   */
  readonly again: ReadonlyMap<number, number>;
  /** One entry per query: total and page, as a text to compare. */
  readonly answers: readonly string[];
  /** The longest interval of a 1 ms timer during the set. */
  readonly pause: number;
  /** The longest garbage collection during the set. */
  readonly collection: number;
}

/** Slow engines get fewer queries: at least this many, and more until the time is over. */
const LEAST_QUERIES = 10;
const SET_MS = 1000;
/** A set ends after this time, however few queries it had. */
const MOST_SET_MS = 5000;
const REPEATED = 5;

export interface EngineProcess {
  run(set: QuerySet): Promise<Timed>;
  /** The current memory of the index: the growth of resident memory since before opening, in MB. */
  memory(): Promise<number>;
  close(): Promise<void>;
}

/**
 * Starts the process of an engine.
 * @param heapMb the limit of its JavaScript heap
 * @throws Error if it cannot open the folder within the time and the memory
 */
export async function startEngine(
  id: EngineId,
  folder: string,
  heapMb: number,
  seconds: number,
): Promise<EngineProcess & { opened: Opened }> {
  const child = fork(import.meta.filename, [id, folder], {
    // Can transfer Maps.
    serialization: 'advanced',
    execArgv: ['--expose-gc', `--max-old-space-size=${heapMb}`],
    // If it is killed, its temporary files are removed with the folder.
    env: { ...process.env, TMPDIR: folder },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let errors = '';
  child.stderr?.on('data', (text) => {
    errors = `${errors}${text}`.slice(-4000);
  });
  const exited = once(child, 'exit').then(([code, signal]) => {
    const isMemory = /heap out of memory|heap limit/.test(errors);
    const line = /^\w*Error: .*$/m.exec(errors)?.[0];
    throw new Error(
      isMemory ? `it needs more than ${heapMb} MB` : (line ?? `it ended with ${signal ?? code}`),
    );
  });
  exited.catch(() => {});
  const answer = async <T>(request: object, limitSeconds: number): Promise<T> => {
    const timeout = new AbortController();
    try {
      child.send(request);
      return await Promise.race([
        once(child, 'message').then(([message]) => message as T),
        exited,
        sleep(limitSeconds * 1000, undefined, { signal: timeout.signal, ref: true }).then(() => {
          child.kill('SIGKILL');
          throw new Error(`it takes more than ${limitSeconds} s`);
        }),
      ]);
    } finally {
      timeout.abort();
    }
  };
  const opened = await answer<Opened>({ open: true }, seconds);
  return {
    opened,
    run: (set) => answer<Timed>({ set }, 300),
    memory: () => answer<number>({ memory: true }, 60),
    async close() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.send({ close: true });
      await exited.catch(() => {});
    },
  };
}

async function openHere(
  id: EngineId,
  folder: string,
): Promise<[engine: Engine, opened: Opened, memory: () => number]> {
  collectGarbage();
  const before = process.memoryUsage.rss();
  const started = performance.now();
  const engine: Engine = await ENGINES[id].open(folder);
  const openSeconds = (performance.now() - started) / 1000;
  await sleep(100);
  const memory = () => {
    collectGarbage();
    const { pid, memoryBefore = 0 } = engine;
    const bytes =
      pid === undefined ? process.memoryUsage.rss() - before : residentBytes(pid) - memoryBefore;
    return bytes / 1e6;
  };
  const { buildSeconds } = engine;
  return [engine, { openSeconds, buildSeconds, memoryMb: memory() }, memory];
}

async function answerSet(engine: Engine, { queries }: QuerySet): Promise<Timed> {
  const times: number[] = [];
  const answers: string[] = [];
  let collection = 0;
  const observer = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) collection = Math.max(collection, duration);
  });
  observer.observe({ entryTypes: ['gc'] });
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  await sleep(5);
  delay.reset();
  const started = performance.now();
  for (const query of queries) {
    await nextTurn();
    const began = performance.now();
    let answer: Answer | Promise<Answer> = engine.find(query);
    if (answer instanceof Promise) answer = await answer;
    const ended = performance.now();
    times.push(ended - began);
    answers.push(`${answer.total} ${answer.ranks.join()}`);
    const spent = ended - started;
    if (spent > MOST_SET_MS || (spent > SET_MS && times.length >= LEAST_QUERIES)) break;
  }
  await sleep(5);
  delay.disable();
  observer.disconnect();
  const again = await repeatSlowest(engine, queries, times);
  return { times, again, answers, pause: delay.max / 1e6, collection };
}

async function repeatSlowest(
  engine: Engine,
  queries: readonly TitleQuery[],
  times: readonly number[],
): Promise<Map<number, number>> {
  const again = new Map<number, number>();
  const started = performance.now();
  const slowest = [...times.keys()].sort((a, b) => times[b] - times[a]);
  for (const index of slowest.slice(0, REPEATED)) {
    let least = Number.POSITIVE_INFINITY;
    for (let time = 0; time < 5 && performance.now() - started < SET_MS; time++) {
      await nextTurn();
      const began = performance.now();
      const answer = engine.find(queries[index]);
      if (answer instanceof Promise) await answer;
      least = Math.min(least, performance.now() - began);
    }
    if (Number.isFinite(least)) again.set(index, least);
  }
  return again;
}

function collectGarbage(): void {
  // Defined because of --expose-gc.
  const collect = globalThis.gc as (() => void) | undefined;
  collect?.();
  collect?.();
}

if (import.meta.main) {
  const [id, folder] = process.argv.slice(2) as [EngineId, string];
  let engine: Engine | undefined;
  let memory = () => 0;
  const handle = async (request: { open?: true; memory?: true; set?: QuerySet; close?: true }) => {
    if (request.open) {
      const [found, opened, measure] = await openHere(id, folder);
      engine = found;
      memory = measure;
      process.send?.(opened);
    } else if (request.memory) {
      process.send?.(memory());
    } else if (request.set !== undefined) {
      process.send?.(await answerSet(engine as Engine, request.set));
    } else {
      await engine?.close();
      process.disconnect?.();
    }
  };
  process.on('message', (request) => {
    handle(request as object).catch((error: Error) => {
      process.stderr.write(`Error: ${error.message}\n${error.stack}\n`, () => process.exit(1));
    });
  });
  // The process that started this one has ended.
  process.on('disconnect', () => process.exit());
}
