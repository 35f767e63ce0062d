/** `cover-catalogue snapshot push` and `keygen`, and the pushes of `generate` and `schedule`. */

import { mkdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { runSnapshot } from '../../../commands/run-snapshot.ts';
import { currentId } from '../../../store/generations/generations.ts';
import { openRemote } from '../../../store/remote/open-remote.ts';
import type { RemoteStore } from '../../../store/remote/remote.ts';
import { checkPointer } from '../../../store/signatures/check-pointer.ts';
import { makeKeyPair, readVerifyingKey } from '../../../store/signatures/keys.ts';
import { end, makeFolder, runCommand, startProgram, until } from '../../support/product.ts';
import { readGeneration, readPointer } from '../../support/remotes.ts';
import { BUCKET, type RunningS3, startS3 } from '../../support/servers/s3.ts';
import {
  type ChangingDatabase,
  expectOneClearLine,
  finishInTime,
  makeChanging,
  newSnapshots,
  SETTINGS,
  startGenerator,
} from '../../support/wholeness.ts';

const STALL = { stallSeconds: 5 };
const NEVER = '0 0 1 1 *';

let server: RunningS3;
let address: string;
let remote: RemoteStore;
let database: ChangingDatabase;
let snapshotsDir: string;
let stores = 0;

beforeAll(async () => {
  server = await startS3();
});

beforeEach(async () => {
  database = await makeChanging();
  snapshotsDir = newSnapshots();
  address = `s3://${BUCKET}/store-${++stores}`;
  remote = openRemote(address, { ...STALL, environment: server.environment });
});

afterEach(() => remote.close());

const snapshot = (args: string[], environment: Readonly<Record<string, string>> = {}) =>
  runCommand(runSnapshot, args, {
    SNAPSHOTS_DIR: snapshotsDir,
    ...server.environment,
    ...environment,
  });

const generateWith = (environment: Readonly<Record<string, string>> = {}, args: string[] = []) =>
  finishInTime(
    startGenerator(database.url, snapshotsDir, args, { ...server.environment, ...environment }),
  );

describe('snapshot push', () => {
  beforeEach(async () => {
    await generateWith();
  });

  test('pushes to S3, says what it sent, and finds nothing to do the second time', async () => {
    const first = await snapshot(['push', '--to', address]);
    expect(first).toMatchObject({ code: 0 });
    expect(first.stdout).toMatch(
      /^Pushed 000001-\w+ to s3:\/\/catalogue\/store-\d+: \d+ files and 0 differences sent \(0\.\d MB\), 0 files were there; 0 old objects removed; \d+\.\d s\.\n$/,
    );
    expect(first.stderr).toMatch(/sending: (\d\.\d) of \1 MB/);
    await readGeneration(remote);
    const second = await snapshot(['push'], { SNAPSHOT_PUSH: address });
    expect(second).toMatchObject({ code: 0 });
    expect(second.stdout).toMatch(
      /^s3:\/\/catalogue\/store-\d+ has 000001-\w+ already; 0 old objects removed\.\n$/,
    );
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
    const pointer = await readPointer(remote);
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
    const gone = { AWS_ENDPOINT_URL_S3: 'http://127.0.0.1:9' };
    const finished = await snapshot(['push', '--to', address], gone);
    expect(expectOneClearLine(finished)).toMatch(
      /^read current\.json: no reply: .*ECONNREFUSED.* \(tried 5 times\)$/,
    );
  });
});

describe('a wrong push', () => {
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
      const { code, stderr, stdout } = await snapshot(['push', ...args], environment);
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toMatch(message);
      expect(stderr).not.toContain('secret-text');
    },
  );
});

describe('generate', () => {
  test('pushes what it has published', async () => {
    expect(await generateWith({ SNAPSHOT_PUSH: address })).toMatchObject({ code: 0 });
    const { pointer } = await readGeneration(remote);
    expect(pointer.id).toBe(currentId(snapshotsDir));
  });

  test('does not push after a dry run', async () => {
    await generateWith();
    expect(await generateWith({ SNAPSHOT_PUSH: address }, ['--dry-run'])).toMatchObject({
      code: 0,
    });
    expect(await readPointer(remote)).toBeUndefined();
  });

  test('that cannot push has published nevertheless, warns, and pushes in the next run', async () => {
    const folder = path.join(makeFolder(), 'not-mounted');
    const run = await generateWith({ SNAPSHOT_PUSH: folder });
    expect(run).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Published 000001-/) });
    expect(run.stderr).toMatch(/Warning: nothing was pushed: .*not-mounted does not exist\./);
    mkdirSync(folder);
    const next = await generateWith({ SNAPSHOT_PUSH: folder });
    expect(next).toMatchObject({ code: 0, stdout: expect.stringMatching(/has not changed/) });
    const store = openRemote(folder, STALL);
    expect((await readPointer(store))?.id).toBe(currentId(snapshotsDir));
    store.close();
  });

  test('pushes a rollback, during which publishing is held', async () => {
    await generateWith({ SNAPSHOT_PUSH: address });
    const older = currentId(snapshotsDir) ?? '';
    await database.change();
    await generateWith({ SNAPSHOT_PUSH: address });
    await snapshot(['rollback', older]);
    expect(await generateWith({ SNAPSHOT_PUSH: address })).toMatchObject({ code: 3 });
    expect((await readPointer(remote))?.id).toBe(currentId(snapshotsDir));
  });

  test('refuses a store that cannot be written, before it reads the database', async () => {
    const web = await generateWith({ SNAPSHOT_PUSH: 'https://files.example.org/' });
    expect(web).toMatchObject({ code: 2, stdout: '' });
    expect(web.stderr).toMatch(/SNAPSHOT_PUSH is the address of a web server/);
    expect(currentId(snapshotsDir)).toBeUndefined();
  });
});

describe('schedule', () => {
  function startSchedule(push: string) {
    const child = startProgram('generator/cli/schedule.ts', [], {
      DATABASE_URL: database.url,
      SNAPSHOTS_DIR: snapshotsDir,
      GENERATE_CRON: NEVER,
      SNAPSHOT_PUSH: push,
      ...SETTINGS,
      ...server.environment,
    });
    let log = '';
    child.stdout?.resume();
    child.stderr?.setEncoding('utf8').on('data', (text) => {
      log += text;
    });
    return { log: () => log, stop: () => end(child, 'SIGTERM') };
  }

  test('pushes whatever becomes current: its own runs, other runs and rollbacks', async () => {
    const schedule = startSchedule(address);
    const isPushed = async () => {
      const id = currentId(snapshotsDir);
      return id !== undefined && (await readPointer(remote))?.id === id;
    };
    await until(isPushed);
    const older = currentId(snapshotsDir) ?? '';
    await database.change();
    await generateWith();
    expect(currentId(snapshotsDir)).not.toBe(older);
    await until(isPushed);
    const newer = currentId(snapshotsDir);
    await snapshot(['rollback', older]);
    expect(currentId(snapshotsDir)).not.toBe(newer);
    await until(isPushed);
    await readGeneration(remote);
    expect(await schedule.stop()).toBe(0);
    expect(schedule.log()).not.toMatch(/"level":[45]0/);
  });

  test('says once that a push fails, and pushes when the store is back', async () => {
    const folder = path.join(makeFolder(), 'disk');
    const away = `${folder}-away`;
    mkdirSync(away);
    const schedule = startSchedule(folder);
    await until(() => schedule.log().includes('The push failed'));
    expect(schedule.log()).toMatch(
      /The push failed, and will be tried again: .*disk does not exist/,
    );
    renameSync(away, folder);
    await until(() => schedule.log().includes('"pushed"'));
    expect(schedule.log().split('The push failed')).toHaveLength(2);
    const store = openRemote(folder, STALL);
    await readGeneration(store);
    store.close();
    expect(await schedule.stop()).toBe(0);
    rmSync(folder, { recursive: true });
  });
});
