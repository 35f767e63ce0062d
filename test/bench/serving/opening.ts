/**
 * Opening a generation while serving: under a steady load, well below the capacity of the proxy, the
 * other generation becomes current, like at the end of a run of the generator, and the proxy opens it.
 *
 * Each round measures a complete opening: it starts after the proxy has closed the generation that
 * the round publishes.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { generationDir, pointCurrentTo } from '../../../store/generations/generations.ts';
import { verifyGeneration } from '../../../store/generations/verify.ts';
import { freePort } from '../../support/servers/ports.ts';
import { type Core, startServer } from '../http/process.ts';
import { startProduct } from '../http/servers.ts';
import { clock, type Samples, type SteadyLoad, startLoad, type Taken } from './load-process.ts';
import {
  forgetHighest,
  type Memory,
  type MemorySamples,
  readMemory,
  watchMemory,
} from './memory.ts';
import type { Prepared } from './prepare.ts';

export const REQUESTS_PER_SECOND = 500;
export const CONNECTIONS = 48;
const WARM_UP_MS = 10_000;
/** The time after an opening in which it may still have effects, such as garbage collection. */
export const TAIL_MS = 3_000;
/** How long the proxy keeps an older generation. It checks ten times a second whether that is over. */
const HOLD_MS = 60_000;

/** Delays in milliseconds, from the moment each request was due. */
export interface Delays {
  readonly requests: number;
  readonly p50: number;
  readonly p99: number;
  readonly longest: number;
}

/** The delays in one period of time. */
export interface Window {
  readonly product: Delays;
  readonly control: Delays;
}

export interface Round {
  /** From the switch to the last response from the previous generation. */
  readonly seconds: number;
  /** The time for opening and checking according to the proxy's log. */
  readonly ownSeconds: number;
  /** A period right before the opening, as long as the opening with its tail. */
  readonly before: Window;
  readonly opening: Window;
  /** While the previous generation was closed. */
  readonly closing: Window;
  readonly memory: {
    /** The median of the samples. */
    readonly before: Memory;
    readonly highest: Memory;
    readonly after: Memory;
    readonly closed: Memory;
  };
}

export interface Openings {
  readonly threads: number;
  readonly rounds: readonly Round[];
}

interface Running {
  readonly pid: number;
  readonly logFile: string;
  readonly load: SteadyLoad;
  readonly memory: MemorySamples;
}

export async function measureOpenings(
  prepared: Prepared,
  folder: string,
  core: Core,
  threads: number,
  rounds: number,
  report: (text: string) => void,
): Promise<Openings> {
  const { snapshotsDir, older, newer } = prepared;
  const ends: (() => unknown)[] = [];
  const own = path.join(folder, `opening-${threads}`);
  mkdirSync(own, { recursive: true });
  try {
    pointCurrentTo(snapshotsDir, older);
    const started = clock();
    const { pid, url, stop } = await startProduct(prepared, own, core, threads);
    const steadyMs = Math.max(WARM_UP_MS, 1.5 * (clock() - started) + TAIL_MS);
    ends.push(stop);
    const control = await startControl(own, core);
    ends.push(control.stop);
    const load = startLoad({
      ...{ product: url, control: control.url, key: prepared.keys[0] },
      ...{ list: prepared.mixed, perSecond: REQUESTS_PER_SECOND, connections: CONNECTIONS },
    });
    ends.push(load.stop);
    const memory = watchMemory(pid);
    ends.push(memory.stop);
    const running = { pid, logFile: path.join(own, 'product.log'), load, memory };
    await sleep(WARM_UP_MS);
    const found: Round[] = [];
    for (let round = 1; round <= rounds; round++) {
      const [from, to] = round % 2 === 1 ? [older, newer] : [newer, older];
      const result = await measureRound(running, snapshotsDir, from, to, steadyMs);
      found.push(result);
      const longest = ({ product, control: beside }: Window) =>
        `${product.longest.toFixed(1)} (control ${beside.longest.toFixed(1)})`;
      const { before, opening, closing } = result;
      report(
        `${threads} threads, round ${round}: ${result.seconds.toFixed(1)} s, ${Math.round(result.memory.highest.highest)} MB; longest before, opening, closing: ${[before, opening, closing].map(longest).join(', ')} ms`,
      );
    }
    return { threads, rounds: found };
  } finally {
    for (const end of ends.reverse()) await end();
  }
}

export async function startControl(folder: string, core: Core) {
  const port = await freePort();
  const program = path.join(import.meta.dirname, 'control.ts');
  const started = await startServer([process.execPath, program], {
    ...{ core, port, logFile: path.join(folder, 'control.log') },
    environment: { PORT: String(port) },
  });
  return { url: `http://127.0.0.1:${port}`, ...started };
}

async function measureRound(
  { pid, logFile, load, memory }: Running,
  snapshotsDir: string,
  from: string,
  to: string,
  steadyMs: number,
): Promise<Round> {
  // The generator also verifies right before it publishes, so the files are in the page cache.
  await verifyGeneration(generationDir(snapshotsDir, to));
  await load.take();
  const steadyFrom = clock();
  await sleep(steadyMs);
  forgetHighest(pid);
  const switched = clock();
  pointCurrentTo(snapshotsDir, to);
  await load.sees(to);
  await sleep(TAIL_MS);
  const openingEnds = clock();
  const { highest } = readMemory(pid);
  await sleep(HOLD_MS);
  const taken = await load.take();
  const opened = taken.lastOf.get(from) ?? 0;
  if (opened < switched || opened > openingEnds) {
    throw new Error(`The proxy did not switch from ${from} to ${to} in time.`);
  }
  const length = openingEnds - switched;
  const beforeFrom = Math.max(steadyFrom, switched - length);
  const sampled = memory.between(switched, openingEnds);
  return {
    seconds: (opened - switched) / 1000,
    ownSeconds: ownSeconds(logFile, to),
    before: windowOf(taken, beforeFrom, switched),
    opening: windowOf(taken, switched, openingEnds),
    closing: windowOf(taken, opened + HOLD_MS, openingEnds + HOLD_MS),
    memory: {
      before: middleOf(memory.between(beforeFrom, switched)),
      highest: { ...highestOf(sampled), highest },
      after: middleOf(memory.between(openingEnds - TAIL_MS / 2, openingEnds)),
      closed: readMemory(pid),
    },
  };
}

function windowOf({ product, control }: Taken, from: number, to: number): Window {
  return { product: delaysOf(product, from, to), control: delaysOf(control, from, to) };
}

export function delaysOf({ due, ended }: Samples, from: number, to: number): Delays {
  const delays = ended
    .map((end, i) => (isWithin(due[i], from, to) ? end - due[i] : -1))
    .filter((delay) => delay >= 0)
    .sort();
  const at = (share: number) => delays[Math.floor(share * (delays.length - 1))];
  if (delays.length === 0) throw new Error('There were no requests in this period.');
  return { requests: delays.length, p50: at(0.5), p99: at(0.99), longest: at(1) };
}

function isWithin(value: number, from: number, to: number): boolean {
  return value >= from && value < to;
}

function middleOf(samples: readonly Memory[]): Memory {
  return samples.toSorted((a, b) => a.resident - b.resident)[samples.length >> 1];
}

function highestOf(samples: readonly Memory[]): Memory {
  return samples.reduce((best, next) => (next.resident > best.resident ? next : best));
}

function ownSeconds(logFile: string, id: string): number {
  const line = readFileSync(logFile, 'utf8')
    .split('\n')
    .findLast((text) => text.includes('"msg":"serving a generation"') && text.includes(id));
  if (line === undefined) throw new Error(`The proxy's log has no line about serving ${id}.`);
  return JSON.parse(line).milliseconds / 1000;
}
