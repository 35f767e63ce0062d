/** A catalogue that changes and is pushed to a depot or offered by an API, and replicas of it. */
import { generateKeyPairSync, hash, type KeyObject } from 'node:crypto';
import { linkSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import { expect } from 'vitest';
import { runReplica } from '#cli/replica.ts';
import type { Catalogue } from '#demo/catalogue/load.ts';
import type { Depot, TransferredObject, WritableDepot } from '#depot/depot.ts';
import { openWritableDepot } from '#depot/open.ts';
import { type PushOptions, push } from '#depot/push.ts';
import { makeReplica, makeSnapshotPuller, type ReplicaOptions } from '#depot/replica.ts';
import { readWhole, type TransferReport } from '#depot/transfers.ts';
import { checkFind } from '#find/check.ts';
import { type Manifest, parseManifest } from '#lib/format/manifest.ts';
import {
  parseRelease,
  RELEASES,
  type Release,
  storedFile,
  storedManifest,
} from '#lib/format/release.ts';
import { currentId, generationDir } from '#lib/generations/generations.ts';
import {
  type Finished,
  makeFolder,
  NEVER,
  runCommand,
  startProxy,
  testKey,
  writeKeys,
} from './product.ts';
import { startFaultyOrigin } from './servers/faulty-origin.ts';
import { makeChanging, makePublished, newSnapshots } from './wholeness.ts';

const SILENT: TransferReport = { advance() {}, step() {}, warn() {} };

/** A key that signs, and the text of its public key. */
export function newSigningKey() {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return {
    signingKey: privateKey,
    publicKeys: [publicKey],
    privatePem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    publicPem: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  };
}

/** An existing folder that can be a depot. */
export function newDepotFolder(): string {
  const folder = path.join(makeFolder(), 'depot');
  mkdirSync(folder, { mode: 0o700 });
  return folder;
}

/** Pushes the current generation, by default without a signature and a grace. */
export function pushTo(
  depot: WritableDepot,
  snapshotsDir: string,
  changes: Partial<PushOptions> = {},
) {
  const options = { signingKey: undefined, graceMs: 0, report: SILENT };
  return push(depot, { snapshotsDir, ...options, ...changes });
}

/** A catalogue that is pushed to a folder. */
export async function makeOrigin(signingKey?: KeyObject, catalogue?: Catalogue) {
  const database = await makeChanging(catalogue);
  const snapshotsDir = newSnapshots();
  const folder = newDepotFolder();
  const depot = openWritableDepot(folder);
  const publish = async (sql?: string): Promise<Release> => {
    await database.publish(snapshotsDir, sql);
    await pushTo(depot, snapshotsDir, { signingKey });
    return readStoredRelease(depot);
  };
  await publish();
  return {
    snapshotsDir,
    folder,
    depot,
    /** The id of the current generation. */
    current: () => currentId(snapshotsDir) as string,
    /** Changes the catalogue, by default one game, publishes and pushes. */
    publish,
  };
}

export type Origin = Awaited<ReturnType<typeof makeOrigin>>;

/** A catalogue that a proxy serves, and a faulty server in front of it. */
export async function startApi(catalogue?: Catalogue) {
  const { database, snapshotsDir } = await makePublished(catalogue);
  const key = testKey(1);
  writeKeys(snapshotsDir, [key]);
  const proxy = await startProxy(snapshotsDir, {}, NEVER);
  const faulty = await startFaultyOrigin(proxy.url);
  const keyFile = path.join(makeFolder(), 'key');
  writeFileSync(keyFile, `${key.key}\n`, { mode: 0o600 });
  const settle = async () => {
    await proxy.refresh();
    return currentId(snapshotsDir) ?? '';
  };
  const publish = async (sql?: string) => {
    await database.publish(snapshotsDir, sql);
    // The run has exported the keys of the database, which has none.
    writeKeys(snapshotsDir, [key]);
    return settle();
  };
  return {
    snapshotsDir,
    proxy,
    faulty,
    key: key.key,
    keyFile,
    /** The address of the depot. */
    address: `${faulty.url}/snapshot`,
    /** Lets the proxy read its folder. @returns the id of the generation that it now serves */
    settle,
    /** Changes the catalogue, by default one game, and publishes. @returns the id that the proxy now serves */
    publish,
  };
}

export type ApiOrigin = Awaited<ReturnType<typeof startApi>>;

/** Runs `cover-catalogue replica --once` for an API, in this process. It does not wait between tries. */
export function pullFromApi(
  { address, keyFile }: ApiOrigin,
  to: string,
  clock = makePatientClock(),
): Promise<Finished> {
  const words = ['--from', address, '--key-file', keyFile, '--once'];
  const run: Parameters<typeof runCommand>[0] = async (invocation) =>
    (await runReplica(invocation, () => {}, clock)) ?? 0;
  return runCommand(run, words, { SNAPSHOTS_DIR: to });
}

/** A clock that stands still, except for pauses and skips, so that a busy machine makes no difference. */
export function makePatientClock() {
  let time = Date.now();
  const pauses: number[] = [];
  return {
    pauses,
    now: () => time,
    async pause(milliseconds: number) {
      pauses.push(milliseconds);
      time += milliseconds;
    },
    skip(milliseconds: number) {
      time += milliseconds;
    },
  };
}

/** What a test does to a depot: it may throw, or change the reply. */
type Fault = (
  path: string,
  reply: () => Promise<TransferredObject | undefined>,
) => Promise<TransferredObject | undefined>;

/** A reply with these bytes. */
export function replyWith(content: Buffer | string): TransferredObject {
  const bytes = async function* () {
    yield Buffer.from(content);
  };
  return { bytes: bytes() };
}

/** A replica of a depot that can fail, in a new folder, with a patient clock. */
export function startReplica(depot: Depot, changes: Partial<ReplicaOptions> = {}) {
  const snapshotsDir = changes.snapshotsDir ?? newSnapshots();
  const faulty = {
    fault: ((_path, reply) => reply()) as Fault,
    /** The path of each read. */
    paths: [] as string[],
  };
  const get: Depot['get'] = (name) => {
    faulty.paths.push(name);
    return faulty.fault(name, () => depot.get(name));
  };
  const clock = makePatientClock();
  const warnings: string[] = [];
  const options = {
    ...{ snapshotsDir, publicKeys: [], clock, keysDepot: undefined, checkFind },
    report: { ...SILENT, warn: (text: string) => warnings.push(text) },
    ...changes,
  };
  const pullSnapshot = makeSnapshotPuller({ ...depot, get }, options);
  const replica = makeReplica({ ...options, from: depot.name, pullSnapshot });
  return { ...replica, snapshotsDir, faulty, clock, warnings };
}

/** @returns the bytes of an object, decompressed by nobody; undefined if there is none */
export async function readBytes(depot: Depot, name: string): Promise<Buffer | undefined> {
  const found = await depot.get(name);
  return found && readWhole({ bytes: found.bytes }, 1e9, name);
}

export async function readStoredRelease(depot: Depot): Promise<Release> {
  return parseRelease((await readBytes(depot, RELEASES.snapshot)) ?? '', 'snapshot');
}

/** Reads the generation that the release names. Fails unless every file is there and right. */
export async function readDepot(depot: Depot): Promise<{ release: Release; manifest: Manifest }> {
  const release = await readStoredRelease(depot);
  const encoded = (await readBytes(depot, storedManifest(release.id))) as Buffer;
  expect(hash('sha256', encoded)).toBe(release.sha256);
  const manifest = parseManifest(encoded);
  for (const { path: name, sha256 } of manifest.files) {
    const stored = (await readBytes(depot, storedFile(sha256))) as Buffer;
    expect([name, hash('sha256', zstdDecompressSync(stored))]).toEqual([name, sha256]);
  }
  return { release, manifest };
}

/** The content of each file of a generation, by path. */
export function filesOf(snapshotsDir: string, id: string): Map<string, Buffer> {
  const dir = generationDir(snapshotsDir, id);
  const names = readdirSync(dir, { recursive: true, encoding: 'utf8' });
  const files = names.filter((name) => statSync(path.join(dir, name)).isFile());
  return new Map(files.toSorted().map((name) => [name, readFileSync(path.join(dir, name))]));
}

/** The inode of each file of a generation. They stay taken, also when the generation is removed. */
export function inodesOf(snapshotsDir: string, id: string): Map<string, number> {
  const links = makeFolder();
  const dir = generationDir(snapshotsDir, id);
  return new Map(
    [...filesOf(snapshotsDir, id).keys()].map((name, i) => {
      linkSync(path.join(dir, name), path.join(links, String(i)));
      return [name, statSync(path.join(dir, name)).ino];
    }),
  );
}
