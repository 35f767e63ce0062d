/** A catalogue that changes, a proxy that offers it, and mirrors of it. */
import { linkSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { runMirror as runMirrorCommand } from '../../commands/run-mirror.ts';
import { openDatabase } from '../../database/open.ts';
import type { Clock } from '../../depot/transfer/clock.ts';
import { currentId, generationDir } from '../../generations/generations.ts';
import type { Invocation } from '../../program/invocation.ts';
import type { Catalogue } from '../catalogue/catalogue.ts';
import { QUICK_RETRIES } from './processes.ts';
import {
  type Finished,
  generate,
  makeFolder,
  NEVER,
  type OwnProxy,
  runCommand,
  startProgram,
  startProxy,
  testKey,
  writeKeys,
} from './product.ts';
import { type FaultyOrigin, startFaultyOrigin } from './servers/faulty-origin.ts';
import { makeChanging, makePublished, newSnapshots } from './wholeness.ts';

export interface Origin {
  readonly snapshotsDir: string;
  readonly proxy: OwnProxy;
  /** Stands between the mirrors and the proxy. */
  readonly faulty: FaultyOrigin;
  readonly key: string;
  /** A file with the key. */
  readonly keyFile: string;
  /** Changes one game and publishes. @returns the id that the proxy now serves */
  publishChange(): Promise<string>;
  /** Changes the catalogue and publishes. @returns the id that the proxy now serves */
  publish(sql: string): Promise<string>;
  /** Lets the proxy read its folder. @returns the id of the current generation, which it now serves */
  settle(): Promise<string>;
  close(): Promise<void>;
}

/** @param catalogue the sample by default */
export async function startOrigin(catalogue?: Catalogue): Promise<Origin> {
  const { database, snapshotsDir } = await (catalogue ? publish(catalogue) : makePublished());
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
  const publishAll = async () => {
    await generate(database.url, snapshotsDir);
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
    settle,
    async publishChange() {
      await database.change();
      return publishAll();
    },
    async publish(sql) {
      const opened = await openDatabase(database.url);
      await opened.run(sql, []);
      await opened.close();
      return publishAll();
    },
    async close() {
      await faulty.close();
      await proxy.stop();
    },
  };
}

async function publish(catalogue: Catalogue) {
  const database = await makeChanging(catalogue);
  const snapshotsDir = newSnapshots();
  await generate(database.url, snapshotsDir);
  return { database, snapshotsDir };
}

const mirrorWords = ({ faulty, keyFile }: Origin, to: string, args: readonly string[]) => [
  ...['--from', faulty.url, '--key-file', keyFile, '--to', to],
  ...args,
];

/** Starts `cover-catalogue mirror` as a program, for tests that end it. */
export function startMirror(origin: Origin, to: string, args: readonly string[] = []) {
  return startProgram('commands/mirror.ts', mirrorWords(origin, to, args), QUICK_RETRIES);
}

/** Runs `cover-catalogue mirror` in this process. It does not wait between its tries. */
export function runMirror(
  origin: Origin,
  to: string,
  args: readonly string[] = [],
  clock = makePatientClock(),
): Promise<Finished> {
  const run = (invocation: Invocation) => runMirrorCommand(invocation, clock);
  return runCommand(run, mirrorWords(origin, to, args), {});
}

/** A clock that stands still, except for pauses, which take no time. */
export function makePatientClock(): Clock & { readonly pauses: number[] } {
  let time = Date.now();
  const pauses: number[] = [];
  return {
    pauses,
    now: () => time,
    async pause(milliseconds) {
      pauses.push(milliseconds);
      time += milliseconds;
    },
  };
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
