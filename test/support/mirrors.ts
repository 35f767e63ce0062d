/** A catalogue that changes, a proxy that offers it, and mirrors of it. */
import { linkSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { openDatabase } from '../../database/open.ts';
import { currentId, generationDir } from '../../store/generations/generations.ts';
import type { Catalogue } from '../catalogue/catalogue.ts';
import { changeTimers, QUICK_RETRIES } from './processes.ts';
import {
  type Finished,
  generate,
  makeFolder,
  type RunningProxy,
  startProgram,
  startProxy,
  testKey,
  until,
  writeKeys,
} from './product.ts';
import { type FaultyOrigin, startFaultyOrigin } from './servers/faulty-origin.ts';
import { finishInTime, makeChanging, newSnapshots } from './wholeness.ts';

export interface Origin {
  readonly snapshotsDir: string;
  readonly proxy: RunningProxy;
  /** Stands between the mirrors and the proxy. */
  readonly faulty: FaultyOrigin;
  readonly key: string;
  /** A file with the key. */
  readonly keyFile: string;
  /** Changes one game and publishes. @returns the id that the proxy now serves */
  publishChange(): Promise<string>;
  /** Changes the catalogue and publishes. @returns the id that the proxy now serves */
  publish(sql: string): Promise<string>;
  /** Waits until the proxy serves the current generation. */
  settle(): Promise<string>;
  close(): Promise<void>;
}

/** @param limit of the key, in requests per minute */
export async function startOrigin(catalogue?: Catalogue, limit = 1_000_000): Promise<Origin> {
  const database = await makeChanging(catalogue);
  const snapshotsDir = newSnapshots();
  await generate(database.url, snapshotsDir);
  const key = testKey(1, { limit });
  writeKeys(snapshotsDir, [key]);
  // Otherwise mirrors of a proxy that is slow, on a busy machine, would get whole files after 5 s.
  const proxy = await startProxy(snapshotsDir, changeTimers({ 5000: 20_000 }));
  const faulty = await startFaultyOrigin(proxy.url);
  const keyFile = path.join(makeFolder(), 'key');
  writeFileSync(keyFile, `${key.key}\n`, { mode: 0o600 });
  const settle = async () => {
    const id = currentId(snapshotsDir) ?? '';
    await until(async () => (await proxy.readyz()).json.snapshot === id);
    await until(async () => (await proxy.get('/stats', key.key)).status === 200);
    return id;
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

/** Starts a run of `cover-catalogue mirror`. */
export function startMirror({ faulty, keyFile }: Origin, to: string, args: readonly string[] = []) {
  const all = ['--from', faulty.url, '--key-file', keyFile, '--to', to, ...args];
  return startProgram('commands/mirror.ts', all, QUICK_RETRIES);
}

export function runMirror(
  origin: Origin,
  to: string,
  args: readonly string[] = [],
): Promise<Finished> {
  return finishInTime(startMirror(origin, to, args));
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
