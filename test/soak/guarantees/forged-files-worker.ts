/**
 * Opens one forged generation after another as the proxy does. From each that opens it requests every
 * resource. It runs in a worker thread, which can be ended if it hangs; the current seed is in memory
 * that both threads share.
 */
import { closeSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { gameSlug } from '../../../format/index/record-index.ts';
import { recordBody } from '../../../proxy/api/bodies.ts';
import { makeMatchRoute } from '../../../proxy/api/routes/match-route.ts';
import { splitTarget } from '../../../proxy/http/message/target.ts';
import { type Generation, makeGeneration, viewIndex } from '../../../proxy/snapshot/generation.ts';
import { type OpenedFiles, openFiles } from '../../../proxy/snapshot/open-files.ts';
import { strictly } from '../../format/strict-columns.ts';
import { type Files, forge } from './forged-files.ts';

export interface ForgedOrder {
  /** A folder with the base generation, whose files are overwritten. */
  readonly dir: string;
  readonly base: Files;
  /** Without the base path of the API. */
  readonly targets: readonly string[];
  readonly seeds: { readonly from: number; readonly to: number };
  /** Shared memory for the current seed. */
  readonly at: Int32Array;
}

export interface ForgedResult {
  readonly refused: number;
  readonly served: number;
  /** The longest time for one seed, in milliseconds of CPU time. */
  readonly longest: number;
  readonly faults: readonly string[];
}

/** The highest CPU time for one seed. */
const MOST_SECONDS = 1;
/** How many games per platform are also requested by the slugs in the forged index. */
const FORGED_SLUGS = 20;

const matchRoute = makeMatchRoute('', async () => 'gone');
const { dir, base, targets, seeds, at } = workerData as ForgedOrder;
const faults: string[] = [];
let refused = 0;
let served = 0;
let longest = 0;
let onDisk: readonly string[] = [];

function writeFiles(files: Files): void {
  const changed = [...files].filter(([name, bytes]) => bytes !== base.get(name));
  for (const name of onDisk) writeFileSync(path.join(dir, name), base.get(name) as Uint8Array);
  for (const [name, bytes] of changed) writeFileSync(path.join(dir, name), bytes);
  onDisk = changed.map(([name]) => name);
}

interface Opened {
  readonly descriptors: OpenedFiles['descriptors'];
  readonly generation: Generation;
}

function tryToOpen(id: string): Opened | Error {
  try {
    const files = openFiles({ dir, id });
    const generation = makeGeneration(files, strictly(viewIndex(files)));
    return { descriptors: files.descriptors, generation };
  } catch (error) {
    return error as Error;
  }
}

function request(generation: Generation, target: string): void {
  const [route, query] = splitTarget(target);
  const answer = matchRoute(route)?.prepare(query)(generation);
  // A list of changes does not come from the files of a generation.
  if (answer === undefined || answer instanceof Promise) return;
  if (!/^[0-9a-f]{16}$/.test(answer.hash)) throw new Error(`${target} has no hash`);
  const odd = answer.headers.find((text) => /[^\x20-\x7e]/.test(text));
  if (odd !== undefined) throw new Error(`${target} has the header ${odd}`);
}

function requestAll(generation: Generation): void {
  const { index: records } = generation;
  for (const target of targets) request(generation, target);
  for (const [platform, { slug, first_game, games }] of records.platforms.entries()) {
    generation.platform(platform);
    for (let game = first_game; game < first_game + Math.min(games, FORGED_SLUGS); game++) {
      request(generation, `/games/${slug}/${encodeURIComponent(gameSlug(records, game))}/covers`);
    }
  }
  for (let cover = 0; cover < records.covers.byteLength.length; cover++)
    recordBody(generation.covers, cover);
}

for (let seed = seeds.from; seed < seeds.to; seed++) {
  Atomics.store(at, 0, seed);
  const { files, id, changes } = forge(base, seed);
  writeFiles(files);
  const started = process.threadCpuUsage();
  const opened = tryToOpen(id);
  const name = `seed ${seed} (${changes.join(', ')})`;
  if (opened instanceof Error) {
    refused++;
    const isNamed = [...base.keys()].some((file) => opened.message.includes(file));
    if (!isNamed) faults.push(`${name}: the error names no file: ${opened.stack}`);
  } else {
    served++;
    try {
      requestAll(opened.generation);
    } catch (error) {
      faults.push(`${name} was opened and failed later: ${(error as Error).stack}`);
    }
    opened.descriptors.forEach(closeSync);
  }
  const { user, system } = process.threadCpuUsage(started);
  longest = Math.max(longest, (user + system) / 1000);
  if (user + system > MOST_SECONDS * 1e6) faults.push(`${name} took ${user + system} µs`);
  if (faults.length > 5) break;
}
parentPort?.postMessage({ refused, served, longest, faults } satisfies ForgedResult);
