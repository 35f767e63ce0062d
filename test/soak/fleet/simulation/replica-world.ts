/**
 * A simulated world for replicas: the code of replicas, pushes and keys is real, and so are the snapshots
 * folders; time, the network and the store are simulated. One edge acts at a time, in the order of
 * simulated time, so a seed always gives the same history.
 *
 * After each step of an edge, `checkStep` checks what must always hold.
 */
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { makeKeysSender } from '../../../../depot/keys/send-keys.ts';
import { unlimited } from '../../../../depot/pull/rate-limit.ts';
import { push } from '../../../../depot/push/push.ts';
import type { GetOptions, RemoteReply, RemoteStore } from '../../../../depot/remote/remote.ts';
import { makeReplica, type Replica } from '../../../../depot/replica/replica.ts';
import type { SigningKey } from '../../../../depot/signatures/keys.ts';
import type { Clock } from '../../../../depot/transfer/clock.ts';
import { TransferError } from '../../../../depot/transfer/try-again.ts';
import { encodeKeys, parseKeys } from '../../../../format/keys-file.ts';
import { KEYS_POINTER } from '../../../../format/keys-pointer.ts';
import { KEYS_FILE } from '../../../../format/layout.ts';
import { LARGEST_POINTER, parsePointer } from '../../../../format/pointer.ts';
import { POINTER } from '../../../../format/remote-layout.ts';
import {
  currentId,
  generationDir,
  namesIn,
  pointCurrentTo,
} from '../../../../generations/generations.ts';
import { verifyAndOpen } from '../../../../generations/verify.ts';
import { readBoundedFileSync } from '../../../../program/files/bounded-file.ts';
import type { Random } from '../../../catalogue/random.ts';
import { type MemoryStore, makeMemoryStore, replyWith } from './memory-store.ts';

const INTERVAL_MS = 1_000;
const FIRST_TIME = Date.UTC(2026, 0, 1);

/** How likely what goes wrong is; 0 everywhere for a calm world. */
export interface Weather {
  /** Of each request: that it gets no reply, that it is cut off, that its bytes are changed. */
  readonly lost: number;
  readonly cut: number;
  readonly changed: number;
  /** Of each check: that a cache, or an attacker, offers an old pointer. */
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
  /** What must never go back: the pointer to what is served, and the keys that are valid. */
  readonly seen: { sequence: number; validKeys: number };
  readonly counts: { requests: number; bytes: number; published: number; crashes: number };
}

export interface WorldOptions {
  /** A snapshots folder with generations to publish; the world moves its `current`. */
  readonly origin: string;
  /** An empty folder. */
  readonly folder: string;
  readonly signingKey: SigningKey;
  readonly random: Random;
  readonly edges: number;
}

export function makeWorld({ origin, folder, signingKey, random, edges: count }: WorldOptions) {
  let weather = CALM;
  let time = 0;
  const wallTime = () => Math.floor(FIRST_TIME + time);
  const store = makeMemoryStore('s3://simulated/snapshots');
  const keysStore = makeMemoryStore('s3://simulated/keys');
  const sender = makeKeysSender(keysStore, [signingKey], {
    ...realClock(),
    now: wallTime,
  });
  /** All pointers and keys that the origin has ever pushed. */
  const history = { pointers: [] as Buffer[], keys: [] as Buffer[], ids: new Set<string>() };
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
      publicKeys: [signingKey.verifyingKey],
      parallel: 1,
      clock,
      remote: viewOf(store, edge, history.pointers),
      keys: { store: viewOf(keysStore, edge, history.keys), name: 'edge' },
      limit: unlimited,
      report: { advance: strike, step: strike, warn() {} },
    });
  }

  /** The store as an edge sees it through its network. */
  function viewOf(from: MemoryStore, edge: Edge, old: readonly Buffer[]): RemoteStore {
    let downUntil = 0;
    async function get(name: string, options: GetOptions = {}): Promise<RemoteReply> {
      edge.counts.requests++;
      time += 5 + random.next() * 40;
      if (random.happens(weather.crash)) throw new CrashError('a crash');
      if (random.happens(weather.down)) downUntil = time + random.next() * 60_000;
      if (time < downUntil || random.happens(weather.lost)) {
        time += 1_000;
        throw new TransferError('no reply: simulated');
      }
      const isPointer = name === POINTER || name === KEYS_POINTER;
      const offered = isPointer && old.length > 0 && random.happens(weather.old);
      const bytes = offered ? random.pick(old) : from.objects.get(name);
      const reply = replyWith(bytes, options);
      return reply.status === 'found' ? { ...reply, bytes: disturb(reply.bytes) } : reply;
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
    const traffic = () => ({ requests: 0, received: edge.counts.bytes, sent: 0 });
    return { ...from, get, traffic };
  }

  /** Makes a generation current at the origin, and pushes it. */
  async function publish(id: string): Promise<void> {
    pointCurrentTo(origin, id);
    const options = { snapshotsDir: origin, signingKeys: [signingKey], publicKeys: [] };
    const report = { advance() {}, step() {}, warn() {} };
    await push(store, { ...options, isForced: false, parallel: 1, graceMs: 0, report });
    history.ids.add(id);
    history.pointers.push(store.objects.get(POINTER) as Buffer);
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
    await sender.send(encodeKeys(keys), wallTime());
    history.keys.push(keysStore.objects.get(KEYS_POINTER) as Buffer);
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

  /** @param isEqual whether the check has found or made the edge equal to the store */
  function checkStep(edge: Edge, isEqual: boolean): void {
    if (existsSync(path.join(edge.dir, KEYS_FILE))) {
      const valid = validKeys(edge).length;
      expect(valid).toBeLessThanOrEqual(edge.seen.validKeys);
      edge.seen.validKeys = valid;
    }
    const id = currentId(edge.dir);
    if (id === undefined) return;
    if (!history.ids.has(id)) throw new Error(`${id} was never published.`);
    const { sequence, id: kept } = parsePointer(
      readBoundedFileSync(path.join(edge.dir, POINTER), LARGEST_POINTER).toString('utf8'),
    );
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

function realClock(): Clock {
  return { now: Date.now, pause: async () => {} };
}
