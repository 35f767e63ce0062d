/**
 * A simulated world for replicas: the code of replicas, pushes and keys is real, and so are the snapshots
 * folders; time, the network and the depots are simulated. One edge acts at a time, in the order of
 * simulated time, so a seed always gives the same history.
 *
 * After each step of an edge, `checkStep` checks what must always hold.
 */
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import type { Random } from '../../../../demo/catalogue/random.ts';
import {
  codingOf,
  type Found,
  TransferError,
  type WritableDepot,
} from '../../../../depot/depot.ts';
import { readAccepted } from '../../../../depot/release.ts';
import { makeReplica, type Replica } from '../../../../depot/replica.ts';
import { makeKeysSender } from '../../../../depot/send-keys.ts';
import type { Clock } from '../../../../depot/transfers.ts';
import { encodeKeys, parseKeys } from '../../../../format/keys-file.ts';
import { KEYS_FILE } from '../../../../format/layout.ts';
import { RELEASES } from '../../../../format/release.ts';
import {
  currentId,
  generationDir,
  namesIn,
  pointCurrentTo,
} from '../../../../generations/generations.ts';
import { verifyAndOpen } from '../../../../generations/verify.ts';
import { readBoundedFileSync } from '../../../../program/files/bounded-file.ts';
import { type newSigningKey, pushTo } from '../../../support/replicas.ts';

const INTERVAL_MS = 1_000;
const FIRST_TIME = Date.UTC(2026, 0, 1);

/** How likely what goes wrong is; 0 everywhere for a calm world. */
export interface Weather {
  /** Of each request: that it gets no reply, that it is cut off, that its bytes are changed. */
  readonly lost: number;
  readonly cut: number;
  readonly changed: number;
  /** Of each check: that a cache, or an attacker, offers an old release. */
  readonly old: number;
  /** Of each request and write: that the edge crashes there, or its disk is full. */
  readonly crash: number;
  readonly full: number;
  /** Of each check: that the link of the edge goes down for up to a minute. */
  readonly down: number;
  /** Of each check: that its clock jumps by up to an hour. */
  readonly jump: number;
}

export const CALM: Weather = {
  lost: 0,
  cut: 0,
  changed: 0,
  old: 0,
  crash: 0,
  full: 0,
  down: 0,
  jump: 0,
};

class CrashError extends Error {}

export interface Edge {
  readonly dir: string;
  replica: Replica;
  /** When it acts next, in milliseconds of simulated time. */
  at: number;
  /** What must never go back: the release that is served, and the keys that are valid. */
  readonly seen: { sequence: number; validKeys: number };
  readonly counts: { requests: number; bytes: number; published: number; crashes: number };
}

export interface WorldOptions {
  /** A snapshots folder with generations to publish; the world moves its `current`. */
  readonly origin: string;
  /** An empty folder. */
  readonly folder: string;
  readonly key: ReturnType<typeof newSigningKey>;
  readonly random: Random;
  readonly edges: number;
}

export function makeWorld({ origin, folder, key, random, edges: count }: WorldOptions) {
  let weather = CALM;
  let time = 0;
  const wallTime = () => Math.floor(FIRST_TIME + time);
  const depot = makeMemoryDepot('s3://simulated/snapshots');
  const keysDepot = makeMemoryDepot('s3://simulated/keys');
  const sendKeys = makeKeysSender(keysDepot, key.signingKey, wallTime);
  /** All releases that the origin has ever pushed. */
  const history = { snapshots: [] as Buffer[], keys: [] as Buffer[], ids: new Set<string>() };
  let revoked = 0;
  const edges = Array.from({ length: count }, (_, index) => newEdge(index));

  function newEdge(index: number): Edge {
    const dir = path.join(folder, `edge-${index}`);
    rmSync(dir, { recursive: true, force: true });
    const edge: Edge = {
      dir,
      at: random.next() * INTERVAL_MS,
      replica: undefined as unknown as Replica,
      seen: { sequence: 0, validKeys: Number.POSITIVE_INFINITY },
      counts: { requests: 0, bytes: 0, published: 0, crashes: 0 },
    };
    start(edge, 0);
    return edge;
  }

  /** Starts the replica of an edge, as after a crash. */
  function start(edge: Edge, skew: number): void {
    const clock: Clock = {
      now: () => Math.floor(wallTime() + skew),
      pause: async (milliseconds) => {
        time += milliseconds;
      },
    };
    const strike = () => {
      if (random.happens(weather.crash)) throw new CrashError('a crash');
      if (random.happens(weather.full)) {
        throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
      }
    };
    edge.replica = makeReplica({
      snapshotsDir: edge.dir,
      publicKeys: key.publicKeys,
      parallel: 1,
      clock,
      depot: viewOf(depot, edge, history.snapshots),
      keysDepot: viewOf(keysDepot, edge, history.keys),
      report: { advance: strike, step: strike, warn() {} },
    });
  }

  /** The depot as an edge sees it through its network. */
  function viewOf(from: MemoryDepot, edge: Edge, old: readonly Buffer[]): WritableDepot {
    let downUntil = 0;
    async function get(name: string): Promise<Found | undefined> {
      edge.counts.requests++;
      time += 5 + random.next() * 40;
      if (random.happens(weather.crash)) throw new CrashError('a crash');
      if (random.happens(weather.down)) downUntil = time + random.next() * 60_000;
      if (time < downUntil || random.happens(weather.lost)) {
        time += 1_000;
        throw new TransferError('no reply: simulated');
      }
      const isRelease = Object.values(RELEASES).includes(name);
      const offered = isRelease && old.length > 0 && random.happens(weather.old);
      const bytes = offered ? random.pick(old) : from.objects.get(name);
      const found = bytes && replyWith(name, bytes);
      return found && { ...found, bytes: disturb(found.bytes) };
    }
    async function* disturb(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
      const isCut = random.happens(weather.cut);
      const isChanged = random.happens(weather.changed);
      for await (const piece of bytes) {
        edge.counts.bytes += piece.length;
        time += piece.length / 2_000;
        if (isCut && random.happens(0.3)) throw new TransferError('the connection was cut');
        if (isChanged && piece.length > 0) {
          const other = Buffer.from(piece);
          const at = random.below(other.length);
          other[at] = (other[at] as number) ^ (1 << random.below(8));
          yield other;
        } else yield piece;
      }
    }
    return { ...from, get };
  }

  /** Makes a generation current at the origin, and pushes it. */
  async function publish(id: string): Promise<void> {
    pointCurrentTo(origin, id);
    await pushTo(depot, origin, { signingKey: key.signingKey });
    history.ids.add(id);
    history.snapshots.push(depot.objects.get(RELEASES.snapshot) as Buffer);
  }

  /** Revokes one more key. All keys with lower numbers stay revoked for ever. */
  async function revokeKey(): Promise<void> {
    revoked++;
    const keys = Array.from({ length: 20 }, (_, index) => ({
      id: index + 1,
      hash: String(index).padStart(64, '0'),
      state: index < revoked ? ('revoked' as const) : ('approved' as const),
      limit: 120,
    }));
    await sendKeys(encodeKeys(keys), wallTime());
    history.keys.push(keysDepot.objects.get(RELEASES.keys) as Buffer);
  }

  /** Lets the next edge act. */
  async function step(): Promise<Edge> {
    const edge = edges.reduce((first, each) => (each.at < first.at ? each : first));
    time = Math.max(time, edge.at);
    const began = time;
    const before = currentId(edge.dir);
    if (random.happens(weather.jump)) start(edge, (random.next() - 0.5) * 7_200_000);
    let isCrashed = false;
    let isEqual = true;
    for (const work of [edge.replica.checkKeys, edge.replica.checkSnapshot]) {
      isEqual = true;
      await work().catch((error: Error) => {
        isEqual = false;
        isCrashed ||= error instanceof CrashError || error.cause instanceof CrashError;
      });
    }
    if (isCrashed) {
      edge.counts.crashes++;
      start(edge, 0);
    }
    if (currentId(edge.dir) !== before) edge.counts.published++;
    checkStep(edge, isEqual);
    edge.at = time + INTERVAL_MS;
    // Another edge may have been due while this one was busy.
    time = began;
    return edge;
  }

  /** @param isEqual whether the check has found or made the edge equal to the depot */
  function checkStep(edge: Edge, isEqual: boolean): void {
    if (existsSync(path.join(edge.dir, KEYS_FILE))) {
      const valid = validKeys(edge).length;
      expect(valid).toBeLessThanOrEqual(edge.seen.validKeys);
      edge.seen.validKeys = valid;
    }
    const id = currentId(edge.dir);
    if (id === undefined) return;
    if (!history.ids.has(id)) throw new Error(`${id} was never published.`);
    const { sequence = 0, id: kept } = readAccepted(edge.dir).snapshot ?? {};
    expect(sequence).toBeGreaterThanOrEqual(edge.seen.sequence);
    edge.seen.sequence = sequence;
    if (isEqual) expect(kept).toBe(id);
  }

  /** Checks the files of an edge, which takes longer. */
  async function checkEdge(edge: Edge): Promise<void> {
    const id = currentId(edge.dir);
    if (id !== undefined) await verifyAndOpen(generationDir(edge.dir, id));
    const unfinished = namesIn(path.join(edge.dir, 'generations')).filter((name) =>
      name.startsWith('.'),
    );
    expect(unfinished).toEqual([]);
  }

  /** The ids of the keys that an edge takes for valid. */
  function validKeys({ dir }: Edge): number[] {
    const text = readBoundedFileSync(path.join(dir, 'keys.json'), 1e6).toString('utf8');
    return parseKeys(text)
      .filter(({ state }) => state === 'approved')
      .map(({ id }) => id);
  }

  mkdirSync(folder, { recursive: true });
  return {
    edges,
    publish,
    revokeKey,
    step,
    checkEdge,
    validKeys,
    history,
    setWeather(next: Weather) {
      weather = next;
    },
    /** Lets all edges act until this time. */
    async runUntil(end: number): Promise<void> {
      while (Math.min(...edges.map(({ at }) => at)) < end) await step();
      time = end;
    },
    now: () => time,
    wallTime,
    revoked: () => revoked,
  };
}

interface MemoryDepot extends WritableDepot {
  readonly objects: Map<string, Buffer>;
}

const PIECE = 4096;

function makeMemoryDepot(name: string): MemoryDepot {
  const objects = new Map<string, Buffer>();
  const times = new Map<string, number>();
  return {
    name,
    objects,
    async get(path) {
      const bytes = objects.get(path);
      return bytes && replyWith(path, bytes);
    },
    async put(path, bytes) {
      objects.set(path, bytes);
      times.set(path, Date.now());
    },
    async list(prefix) {
      return [...objects]
        .filter(([path]) => path.startsWith(prefix))
        .map(([path, { length: size }]) => ({ path, size, modifiedAt: times.get(path) ?? 0 }));
    },
    async remove(path) {
      objects.delete(path);
    },
    close() {},
  };
}

function replyWith(path: string, bytes: Buffer): Found {
  const pieces = async function* () {
    for (let at = 0; at < bytes.length; at += PIECE) yield bytes.subarray(at, at + PIECE);
  };
  return { coding: codingOf(path), bytes: pieces() };
}
