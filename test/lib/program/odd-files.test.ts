/**
 * Named pipes, folders and devices instead of the files that the programs read. Reading a pipe would
 * wait for its writer, and a device never ends: the programs refuse or ignore them, and never hang.
 */

import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { runGenerator } from '#cli/generate.ts';
import { runSnapshot } from '#cli/snapshot.ts';
import {
  CURRENT,
  HOLD_FILE,
  KEYS_FILE,
  keyUsageFile,
  MANIFEST,
  PROXY_FOLDER,
  STATUS_FILE,
} from '#lib/format/layout.ts';
import { currentId } from '#lib/generations/generations.ts';
import { loadEnvironmentFile } from '#lib/program/environment/environment.ts';
import {
  NO_LINK,
  openRegularFile,
  readBoundedFile,
  readBoundedFileSync,
} from '#lib/program/files/bounded-file.ts';
import { SITE } from '#test/catalogue/make-sample.ts';
import { makeSampleSnapshots, makeSampleSqlite } from '#test/catalogue/snapshots.ts';
import {
  makeFolder,
  NEVER,
  runCommand,
  startProxy,
  testKey,
  writeKeys,
} from '#test/support/product.ts';

/** What it is called, and creates it at a path. */
type Kind = readonly [name: string, put: (file: string) => void];
const PIPE: Kind = ['a named pipe', (file) => execFileSync('mkfifo', [file])];
const ODD: readonly Kind[] = [
  PIPE,
  ['a directory', (file) => mkdirSync(file)],
  ['a device', (file) => symlinkSync('/dev/zero', file)],
];

describe('a bounded read', () => {
  const readers: readonly (readonly [
    string,
    (file: string, largest: number) => Promise<Buffer>,
  ])[] = [
    ['synchronous', async (file, largest) => readBoundedFileSync(file, largest)],
    ['asynchronous', readBoundedFile],
  ];

  describe.each(readers)('%s', (_, read) => {
    test.each(ODD)('refuses %s', async (_, put) => {
      const file = path.join(makeFolder(), 'a-file');
      put(file);
      await expect(read(file, 100)).rejects.toThrow('a-file is not a regular file.');
      expect(() => openRegularFile(file)).toThrow('a-file is not a regular file.');
    });

    test('refuses a socket', async () => {
      const file = path.join(makeFolder(), 'a-file');
      const server = createServer().listen(file);
      await once(server, 'listening');
      await expect(read(file, 100)).rejects.toThrow('ENXIO');
      server.close();
    });

    test('accepts a file of the largest size, and no larger one', async () => {
      const file = path.join(makeFolder(), 'a-file');
      writeFileSync(file, 'x'.repeat(100));
      expect((await read(file, 100)).toString()).toBe('x'.repeat(100));
      await expect(read(file, 99)).rejects.toThrow('a-file is larger than 99 bytes.');
      truncateSync(file, 0);
      expect(await read(file, 100)).toHaveLength(0);
    });

    test('passes on the error of the system for an absent file', async () => {
      await expect(read(path.join(makeFolder(), 'absent'), 100)).rejects.toMatchObject({
        code: 'ENOENT',
      });
    });
  });

  test('does not follow a link where it must not', () => {
    const folder = makeFolder();
    writeFileSync(path.join(folder, 'a-file'), 'x');
    symlinkSync('a-file', path.join(folder, 'link'));
    expect(readBoundedFileSync(path.join(folder, 'link'), 100).toString()).toBe('x');
    expect(() => readBoundedFileSync(path.join(folder, 'link'), 100, NO_LINK)).toThrow('ELOOP');
  });
});

describe('a named pipe', () => {
  const [, put] = PIPE;

  test('instead of every file that the proxy reads at its start does not stop it', async () => {
    const dir = await makeSampleSnapshots();
    const key = testKey(1);
    const files = [HOLD_FILE, STATUS_FILE, path.join(PROXY_FOLDER, keyUsageFile(0))];
    mkdirSync(path.join(dir, PROXY_FOLDER), { recursive: true });
    for (const name of [...files, KEYS_FILE]) {
      rmSync(path.join(dir, name), { force: true });
      put(path.join(dir, name));
    }
    const proxy = await startProxy(dir, {}, NEVER);
    const state = async () => (await proxy.readyz()).json;
    expect(await state()).toMatchObject({
      snapshot: currentId(dir),
      keys_error: `${KEYS_FILE} is not a regular file.`,
      held: { error: `${HOLD_FILE} is not a regular file.` },
    });
    rmSync(path.join(dir, KEYS_FILE), { recursive: true });
    writeKeys(dir, [key]);
    await proxy.refresh();
    expect((await state()).ready).toBe(true);
    expect((await proxy.get('/stats', key.key)).status).toBe(200);
  });

  test('instead of files that the generator reads is replaced or reported', async () => {
    const dir = await makeSampleSnapshots();
    const before = currentId(dir) as string;
    const generate = async () =>
      runCommand(runGenerator, [], {
        ...SITE,
        DATABASE_URL: await makeSampleSqlite(),
        SNAPSHOTS_DIR: dir,
      });
    put(path.join(dir, HOLD_FILE));
    const held = await generate();
    expect(held.code).toBe(3);
    expect(held.stderr).toContain(`${HOLD_FILE} is not a regular file.`);
    rmSync(path.join(dir, HOLD_FILE), { recursive: true });

    const replaced = [STATUS_FILE, KEYS_FILE, path.join(CURRENT, MANIFEST)];
    for (const name of replaced) {
      rmSync(path.join(dir, name), { force: true });
      put(path.join(dir, name));
    }
    const ended = await generate();
    expect(ended.code).toBe(0);
    expect(currentId(dir)).not.toBe(before);
    const verified = await runCommand(runSnapshot, ['verify', before], { SNAPSHOTS_DIR: dir });
    expect(verified.code).toBe(1);
    expect(verified.stderr).toContain(`${MANIFEST} is not a regular file.`);
  });

  test('instead of .env is refused', () => {
    const folder = makeFolder();
    put(path.join(folder, '.env'));
    const before = process.cwd();
    process.chdir(folder);
    try {
      expect(loadEnvironmentFile).toThrow('.env is not read: .env is not a regular file.');
    } finally {
      process.chdir(before);
    }
  });
});
