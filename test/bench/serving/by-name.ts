/**
 * Clients name every kept generation in turn, more than fit into memory, while others request the
 * current one at a steady rate and new generations are published. Measures the memory of the process
 * and the delays of both kinds of clients.
 */
import { mkdirSync, readdirSync, readlinkSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'undici';
import { pointCurrentTo } from '../../../store/generations/generations.ts';
import type { Core } from '../http/process.ts';
import { startProduct } from '../http/servers.ts';
import { clock, startLoad } from './load-process.ts';
import { forgetHighest, type Memory, readMemory, watchMemory } from './memory.ts';
import { delaysOf, startControl, type Window } from './opening.ts';
import type { Prepared } from './prepare.ts';

export const CLIENTS = 50;
export const STEADY_PER_SECOND = 200;
const STEADY_CONNECTIONS = 24;
const WARM_UP_MS = 10_000;
/** How many requests each client sends for one generation before it names the next. */
const PAGES = 5;
const SWAP_MS = 20_000;

export interface ByName {
  readonly threads: number;
  readonly seconds: number;
  /** Delays of clients that name no generation, without the other clients and together with them. */
  readonly before: Window;
  readonly beside: Window;
  readonly memory: { readonly opened: Memory; readonly highest: Memory };
  /** Open files of generations. */
  readonly descriptors: { readonly before: number; readonly highest: number };
  /** For clients that name generations: responses, rounds through all generations, the longest wait. */
  readonly answers: number;
  readonly rounds: number;
  readonly longestWaitMs: number;
  readonly swaps: number;
}

export async function measureByName(
  prepared: Prepared,
  folder: string,
  core: Core,
  threads: number,
  seconds: number,
  report: (text: string) => void,
): Promise<ByName> {
  const { snapshotsDir, ids, keys } = prepared;
  const ends: (() => unknown)[] = [];
  const own = path.join(folder, `by-name-${threads}`);
  mkdirSync(own, { recursive: true });
  try {
    pointCurrentTo(snapshotsDir, ids[0]);
    const { pid, url, stop } = await startProduct(prepared, own, core, threads);
    ends.push(stop);
    const control = await startControl(own, core);
    ends.push(control.stop);
    const load = startLoad({
      ...{ product: url, control: control.url, key: keys[0], list: prepared.mixed },
      ...{ perSecond: STEADY_PER_SECOND, connections: STEADY_CONNECTIONS },
    });
    ends.push(load.stop);
    await sleep(WARM_UP_MS);
    await load.take();
    const from = clock();
    await sleep(WARM_UP_MS);
    const steady = await load.take();
    const before = {
      product: delaysOf(steady.product, from, clock()),
      control: delaysOf(steady.control, from, clock()),
    };
    const opened = readMemory(pid);
    const descriptorsBefore = openFiles(pid, snapshotsDir);
    forgetHighest(pid);
    const samples = watchMemory(pid);
    ends.push(samples.stop);
    const began = clock();
    const until = began + seconds * 1000;
    let highestDescriptors = 0;
    let swaps = 0;
    const watching = (async () => {
      for (; clock() < until; await sleep(50)) {
        highestDescriptors = Math.max(highestDescriptors, openFiles(pid, snapshotsDir));
        if (clock() - began < (swaps + 1) * SWAP_MS) continue;
        swaps++;
        pointCurrentTo(snapshotsDir, ids[swaps % ids.length]);
      }
    })();
    const clients = await Promise.all(
      Array.from({ length: CLIENTS }, () => requestInTurn(url, keys[1], prepared, until)),
    );
    await watching;
    const taken = await load.take();
    const { highest } = readMemory(pid);
    const besideTo = clock();
    const sum = (of: (client: (typeof clients)[0]) => number) =>
      clients.reduce((total, client) => total + of(client), 0);
    const result: ByName = {
      ...{ threads, seconds, swaps, before },
      beside: {
        product: delaysOf(taken.product, began, besideTo),
        control: delaysOf(taken.control, began, besideTo),
      },
      memory: {
        opened,
        highest: {
          ...samples
            .between(began, besideTo)
            .reduce((best, next) => (next.resident > best.resident ? next : best)),
          highest,
        },
      },
      descriptors: { before: descriptorsBefore, highest: highestDescriptors },
      answers: sum(({ answers }) => answers),
      rounds: sum(({ rounds }) => rounds) / CLIENTS,
      longestWaitMs: Math.max(...clients.map(({ longest }) => longest)),
    };
    report(
      `${threads} threads: ${Math.round(highest)} MB, ${highestDescriptors} files, ${result.answers} responses by name, longest wait ${(result.longestWaitMs / 1000).toFixed(1)} s, ${swaps} swaps; others p99 ${result.before.product.p99.toFixed(1)} before, ${result.beside.product.p99.toFixed(1)} ms together (control ${result.beside.control.p99.toFixed(1)})`,
    );
    return result;
  } finally {
    for (const end of ends.reverse()) await end();
  }
}

/** All clients start with the same generation, like an attacker who wants the others closed. */
export async function requestInTurn(
  url: string,
  key: string,
  { ids, game }: Prepared,
  until: number,
) {
  const client = new Client(url, { headersTimeout: 0 });
  const totals = { answers: 0, rounds: 0, longest: 0 };
  try {
    for (; clock() < until; totals.rounds++) {
      const id = ids[totals.rounds % ids.length];
      for (let page = 0; page < PAGES; page++) {
        const sent = clock();
        const reply = await client.request({
          method: 'GET',
          path: page % 2 === 0 ? game : '/api/v1/search?q=the&per_page=100',
          headers: { 'x-api-key': key, 'x-snapshot': id },
        });
        await reply.body.dump({ limit: Number.MAX_SAFE_INTEGER });
        if (reply.statusCode !== 200 || reply.headers['x-snapshot'] !== id) {
          throw new Error(`A request for ${id} was answered with ${reply.statusCode}.`);
        }
        totals.answers++;
        totals.longest = Math.max(totals.longest, clock() - sent);
      }
    }
  } finally {
    await client.destroy();
  }
  return totals;
}

function openFiles(pid: number, snapshotsDir: string): number {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).filter((descriptor) => {
    try {
      return readlinkSync(path.join(folder, descriptor)).startsWith(snapshotsDir);
    } catch {
      // The descriptor was closed in the meantime.
      return false;
    }
  }).length;
}
