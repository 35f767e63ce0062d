/** A catalogue that changes and is offered to replicas as a snapshots folder, and replicas of it. */

import { hash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { unlimited } from '../../depot/pull/rate-limit.ts';
import { openRemote } from '../../depot/remote/open-remote.ts';
import type { GetOptions, RemoteReply, RemoteStore } from '../../depot/remote/remote.ts';
import { makeReplica, type ReplicaOptions } from '../../depot/replica/replica.ts';
import { signPointer } from '../../depot/signatures/check-pointer.ts';
import { makeKeyPair, readSigningKey, type SigningKey } from '../../depot/signatures/keys.ts';
import { systemClock } from '../../depot/transfer/clock.ts';
import { MANIFEST } from '../../format/layout.ts';
import { encodePointer, type Pointer } from '../../format/pointer.ts';
import { POINTER } from '../../format/remote-layout.ts';
import { currentId, generationDir } from '../../generations/generations.ts';
import type { Catalogue } from '../catalogue/catalogue.ts';
import { generate, makeFolder } from './product.ts';
import { makeChanging, newSnapshots } from './wholeness.ts';

export const newSigningKey = (): SigningKey => readSigningKey(makeKeyPair().privateKey);

/** The pointer to a generation of a snapshots folder. */
export function pointerTo(
  snapshotsDir: string,
  id: string,
  sequence: number,
  keys: readonly SigningKey[] = [],
): Pointer {
  const manifest = readFileSync(path.join(generationDir(snapshotsDir, id), MANIFEST));
  const unsigned = {
    format_version: 1,
    sequence,
    id,
    manifest_sha256: hash('sha256', manifest),
    published_at: new Date().toISOString(),
  } as const;
  return signPointer(unsigned, keys);
}

/** A snapshots folder that replicas pull from. */
export async function makeOrigin(keys: readonly SigningKey[] = [], catalogue?: Catalogue) {
  const database = await makeChanging(catalogue);
  const snapshotsDir = newSnapshots();
  let sequence = 0;
  const offer = (pointer: Pointer) =>
    writeFileSync(path.join(snapshotsDir, POINTER), encodePointer(pointer));
  /** Offers the current generation under a new sequence. */
  const point = (id = currentId(snapshotsDir) as string): Pointer => {
    const pointer = pointerTo(snapshotsDir, id, ++sequence, keys);
    offer(pointer);
    return pointer;
  };
  await generate(database.url, snapshotsDir);
  point();
  return {
    snapshotsDir,
    databaseUrl: database.url,
    offer,
    point,
    /** Changes one game and publishes. @returns the new pointer */
    async publishChange(): Promise<Pointer> {
      await database.change();
      await generate(database.url, snapshotsDir);
      return point();
    },
  };
}

export type ReplicaOrigin = Awaited<ReturnType<typeof makeOrigin>>;

/** What a test does to a store: it may throw, or change the reply. */
export type Fault = (
  path: string,
  options: GetOptions,
  reply: () => Promise<RemoteReply>,
) => Promise<RemoteReply>;

/** A remote store that records reads and can fail. */
export interface FaultyStore {
  readonly store: RemoteStore;
  fault: Fault;
  /** The path of each read. */
  readonly paths: string[];
}

export function makeFaultyStore(store: RemoteStore): FaultyStore {
  const faulty: FaultyStore = {
    fault: (_path, _options, reply) => reply(),
    paths: [],
    store: {
      ...store,
      get(name: string, options: GetOptions = {}) {
        faulty.paths.push(name);
        return faulty.fault(name, options, () => store.get(name, options));
      },
    },
  };
  return faulty;
}

/** A replica of an origin, in a new folder. */
export function startReplica(
  { snapshotsDir: from }: { readonly snapshotsDir: string },
  changes: Partial<ReplicaOptions> = {},
) {
  const snapshotsDir = changes.snapshotsDir ?? newSnapshots();
  const faulty = makeFaultyStore(openRemote(from, { stallSeconds: 5 }));
  const warnings: string[] = [];
  const replica = makeReplica({
    remote: faulty.store,
    keys: undefined,
    snapshotsDir,
    publicKeys: [],
    parallel: 4,
    limit: unlimited,
    report: { advance() {}, step() {}, warn: (text) => warnings.push(text) },
    clock: systemClock,
    ...changes,
  });
  return { ...replica, snapshotsDir, faulty, warnings };
}

/** A folder that can be the key store. */
export function newStoreFolder(): string {
  const folder = path.join(makeFolder(), 'store');
  mkdirSync(folder, { mode: 0o700 });
  return folder;
}
