/** `cover-catalogue snapshot push` and `keygen`, and the pushes of `generate`. */

import { mkdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { runSnapshot } from '../../../../commands/run-snapshot.ts';
import { openRemote } from '../../../../depot/remote/open-remote.ts';
import type { RemoteStore } from '../../../../depot/remote/remote.ts';
import { checkPointer } from '../../../../depot/signatures/check-pointer.ts';
import { makeKeyPair, readVerifyingKey } from '../../../../depot/signatures/keys.ts';
import { currentId } from '../../../../generations/generations.ts';
import { COMPILE_CACHE } from '../../../support/processes.ts';
import { makeFolder, runCommand } from '../../../support/product.ts';
import { readGeneration, readPointer } from '../../../support/remotes.ts';
import { BUCKET, startS3 } from '../../../support/servers/s3.ts';
import {
  type ChangingDatabase,
  expectOneClearLine,
  makePublished,
  runGenerator,
} from '../../../support/wholeness.ts';

const STALL = { stallSeconds: 5 };

/** Stores, as their addresses. */
let address: string;
let database: ChangingDatabase;
let snapshotsDir: string;

beforeEach(async () => {
  ({ database, snapshotsDir } = await makePublished());
  address = makeFolder();
});

/** Works with the store of an address. */
async function withStore<T>(
  work: (store: RemoteStore) => Promise<T>,
  environment: Readonly<Record<string, string>> = {},
): Promise<T> {
  const store = openRemote(address, { ...STALL, environment });
  return work(store).finally(store.close);
}

const pointerThere = () => withStore(readPointer);

const snapshot = (args: string[], environment: Readonly<Record<string, string>> = {}) =>
  runCommand(runSnapshot, args, { SNAPSHOTS_DIR: snapshotsDir, ...environment });

const generateWith = (environment: Readonly<Record<string, string>> = {}, args: string[] = []) =>
  runGenerator(database.url, snapshotsDir, args, { ...COMPILE_CACHE, ...environment });

describe('snapshot push', () => {
  test('pushes to S3, says what it sent, and finds nothing to do the second time', async () => {
    const { environment } = await startS3();
    address = `s3://${BUCKET}/store-1`;
    const first = await snapshot(['push', '--to', address], environment);
    expect(first).toMatchObject({ code: 0 });
    expect(first.stdout).toMatch(
      /^Pushed 000001-\w+ to s3:\/\/catalogue\/store-1: \d+ files and 0 differences sent \(0\.\d MB\), 0 files were there; 0 old objects removed; \d+\.\d s\.\n$/,
    );
    expect(first.stderr).toMatch(/sending: (\d\.\d) of \1 MB/);
    const list = (store: RemoteStore) => store.list('');
    const sent = await withStore(async (store) => {
      await readGeneration(store);
      return list(store);
    }, environment);
    const second = await snapshot(['push'], { SNAPSHOT_PUSH: address, ...environment });
    expect(second).toMatchObject({ code: 0 });
    expect(second.stdout).toMatch(
      /^s3:\/\/catalogue\/store-1 has 000001-\w+ already; 0 old objects removed\.\n$/,
    );
    // A folder gets the same objects.
    address = makeFolder();
    await snapshot(['push', '--to', address]);
    const paths = (objects: Awaited<typeof sent>) => objects.map(({ path: name }) => name);
    expect(paths(sent)).toEqual(paths(await withStore(list)));
  });

  test('signs with the key that keygen wrote', async () => {
    const file = path.join(makeFolder(), 'signing.key');
    const made = await snapshot(['keygen', file]);
    expect(made).toMatchObject({ code: 0 });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(made.stdout + made.stderr).not.toContain(readFileSync(file, 'utf8').trim());
    const key = readVerifyingKey(made.stdout);
    expect(await snapshot(['push', '--to', address], { SNAPSHOT_SIGNING_KEY: file })).toMatchObject(
      { code: 0 },
    );
    const pointer = await pointerThere();
    expect(pointer && checkPointer(pointer, [key], undefined)).toBeUndefined();
    expect(pointer?.signatures).toHaveLength(1);
    expect(await snapshot(['keygen', file])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/exists already\. Name a new file/),
    });
  });

  test('ends with 3 if the store has a signed pointer and there is no key', async () => {
    const { privateKey } = makeKeyPair();
    await snapshot(['push', '--to', address], { SNAPSHOT_SIGNING_KEY: privateKey });
    await database.change();
    await generateWith();
    const refused = await snapshot(['push', '--to', address]);
    expectOneClearLine(refused, 3);
    expect(refused.stderr).toMatch(/SNAPSHOT_SIGNING_KEY is not set\. Nothing is pushed/);
    expect(await snapshot(['push', '--to', address, '--force'])).toMatchObject({ code: 0 });
  });

  test('that cannot reach the store ends with 1 and one clear line', async () => {
    const finished = await snapshot(['push', '--to', path.join(address, 'not-mounted')]);
    expect(expectOneClearLine(finished)).toMatch(/not-mounted does not exist/);
  });
});

describe('a wrong push', () => {
  const AWS = { AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'secret' };

  test.each([
    [[], {}, /The store is missing\. Name it with --to/],
    [['--to', 's3://bucket'], { AWS_ACCESS_KEY_ID: '' }, /AWS_ACCESS_KEY_ID is not set/],
    [['--to', 'ftp://a.org'], {}, /is not the address of a store/],
    [['--to', 's3://bucket', '--parallel', '0'], {}, /--parallel must be a whole number/],
    [['--to', 's3://bucket'], { SNAPSHOT_SIGNING_KEY: 'secret-text' }, /SNAPSHOT_SIGNING_KEY must/],
    [['--to', 's3://bucket'], { SNAPSHOT_PUBLIC_KEYS: '/none' }, /SNAPSHOT_PUBLIC_KEYS must list/],
  ] as [string[], Record<string, string>, RegExp][])(
    'with %j and %j ends with 2',
    async (args, environment, message) => {
      const { code, stderr, stdout } = await snapshot(['push', ...args], {
        ...AWS,
        ...environment,
      });
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toMatch(message);
      expect(stderr).not.toContain('secret-text');
    },
  );
});

describe('generate', () => {
  test('pushes what it has published, and a rollback, during which publishing is held', async () => {
    const older = currentId(snapshotsDir) ?? '';
    await database.change();
    expect(await generateWith({ SNAPSHOT_PUSH: address })).toMatchObject({ code: 0 });
    const { pointer } = await withStore(readGeneration);
    expect(pointer.id).toBe(currentId(snapshotsDir));
    expect(pointer.id).not.toBe(older);
    await snapshot(['rollback', older]);
    expect(await generateWith({ SNAPSHOT_PUSH: address })).toMatchObject({ code: 3 });
    expect((await pointerThere())?.id).toBe(currentId(snapshotsDir));
  });

  test('does not push after a dry run', async () => {
    expect(await generateWith({ SNAPSHOT_PUSH: address }, ['--dry-run'])).toMatchObject({
      code: 0,
    });
    expect(await pointerThere()).toBeUndefined();
  });

  test('that cannot push has published nevertheless, warns, and pushes in the next run', async () => {
    address = path.join(address, 'not-mounted');
    await database.change();
    const run = await generateWith({ SNAPSHOT_PUSH: address });
    expect(run).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Published 000002-/) });
    expect(run.stderr).toMatch(/Warning: nothing was pushed: .*not-mounted does not exist\./);
    mkdirSync(address);
    const next = await generateWith({ SNAPSHOT_PUSH: address });
    expect(next).toMatchObject({ code: 0, stdout: expect.stringMatching(/has not changed/) });
    expect((await pointerThere())?.id).toBe(currentId(snapshotsDir));
  });

  test('refuses a store that cannot be written, before it reads the database', async () => {
    const before = currentId(snapshotsDir);
    await database.change();
    const web = await generateWith({ SNAPSHOT_PUSH: 'https://files.example.org/' });
    expect(web).toMatchObject({ code: 2, stdout: '' });
    expect(web.stderr).toMatch(/SNAPSHOT_PUSH is the address of a web server/);
    expect(currentId(snapshotsDir)).toBe(before);
  });
});
