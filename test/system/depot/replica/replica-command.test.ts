/** `cover-catalogue replica` as a command: its arguments, S3, and signals. */
import { readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { runReplica } from '../../../../commands/run-replica.ts';
import { openDatabase } from '../../../../database/open.ts';
import { makeKeyPair } from '../../../../depot/signatures/keys.ts';
import { currentId } from '../../../../generations/generations.ts';
import { createKeysTables } from '../../../../keys/tables/schema.ts';
import { makeSampleSnapshots, makeSampleSqlite } from '../../../catalogue/snapshots.ts';
import { makeLog } from '../../../support/log.ts';
import { end, runCommand, startProgram } from '../../../support/product.ts';
import { makeOrigin, newStoreFolder } from '../../../support/replicas.ts';
import { BUCKET, startS3 } from '../../../support/servers/s3.ts';
import { expectCurrentVerifies, newSnapshots } from '../../../support/wholeness.ts';

const run = (args: readonly string[], environment: Readonly<Record<string, string>> = {}) =>
  runCommand(
    async (invocation) => (await runReplica(invocation, () => {})) ?? expect.unreachable(),
    args,
    environment,
  );

describe('the arguments', () => {
  const to = ['--to', newSnapshots()];
  const from = ['--from', newStoreFolder()];
  test.each<[string[], Record<string, string>, RegExp]>([
    [to, {}, /Neither --from nor REPLICA_FROM is set/],
    [[...to, '--from', 'ftp://x'], {}, /is not the address of a store/],
    [[...to, '--from', 'https://u:secret@x'], {}, /must be an http or https address/],
    [[...to, '--from', 's3://bucket'], {}, /AWS_ACCESS_KEY_ID is not set/],
    [[...to, ...from, '--parallel', '99'], {}, /--parallel must be a whole number from 1 to 16/],
    [[...to, ...from, '--interval', '0'], {}, /--interval must be a whole number/],
    [[...to, ...from], { KEYS_STORE: 'https://x' }, /KEYS_STORE must be a folder or s3/],
    [[...to, ...from], { SNAPSHOT_PUBLIC_KEYS: 'x' }, /SNAPSHOT_PUBLIC_KEYS must list public keys/],
    [[...to, ...from], { REPLICA_NAME: 'a/b' }, /REPLICA_NAME must have/],
    [[...to, ...from], { KEYS_STORE: `${from[1]}/keys` }, /is within the snapshot store/],
  ])('%j with %j are refused with exit code 2', async (args, environment, text) => {
    const { code, stdout, stderr } = await run(args, environment);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(text);
    expect(stderr).not.toContain('secret');
  });
});

test('--once prints what it did; without a snapshot in the store, it fails', async () => {
  const origin = await makeOrigin();
  const to = newSnapshots();
  const args = ['--once', '--from', origin.snapshotsDir, '--to', to];
  const id = currentId(origin.snapshotsDir);
  expect(await run(args)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(`^Published ${id}: \\d+ games, .* files fetched with`),
  });
  expect(await run(args)).toMatchObject({
    code: 0,
    stdout: `Nothing is newer than ${id}, which stays current.\n`,
  });
  rmSync(path.join(origin.snapshotsDir, 'current.json'));
  const failed = await run(args);
  expect([failed.code, failed.stdout]).toEqual([1, '']);
  expect(failed.stderr).toContain('nothing was pushed there yet');
  expect(currentId(to)).toBe(id);
});

test('a store that is not there when it starts is used as soon as it is', async () => {
  const origin = await makeOrigin();
  const to = newSnapshots();
  const gone = `${origin.snapshotsDir}-later`;
  const child = startProgram('commands/replica.ts', ['--from', gone, '--to', to], {});
  const log = makeLog();
  child.stderr?.setEncoding('utf8').on('data', log.write);
  child.once('close', (code) => log.end(`The replica ended with ${code}`));
  await log.logged('does not exist');

  renameSync(origin.snapshotsDir, gone);
  await log.logged('is equal to its store again');
  await expectCurrentVerifies(to);
  expect(await end(child, 'SIGTERM')).toBe(0);
});

test('snapshots and keys travel through S3', async () => {
  const s3 = await startS3();
  const { privateKey, publicKey } = makeKeyPair();
  const databaseUrl = await makeSampleSqlite();
  const origin = await makeSampleSnapshots();
  const database = await openDatabase(databaseUrl);
  await createKeysTables(database);
  await database.close();
  const stores = {
    ...s3.environment,
    KEYS_STORE: `s3://${BUCKET}/private`,
    SNAPSHOT_SIGNING_KEY: privateKey,
    SNAPSHOT_PUSH: `s3://${BUCKET}/public`,
  };
  const schedule = startProgram('generator/cli/schedule.ts', [], {
    DATABASE_URL: databaseUrl,
    SNAPSHOTS_DIR: origin,
    GENERATE_CRON: 'off',
    ...stores,
  });
  const log = makeLog();
  schedule.stderr?.setEncoding('utf8').on('data', log.write);
  schedule.once('close', (code) => log.end(`The schedule ended with ${code}`));
  await Promise.all([log.logged('sent the keys to replicas'), log.logged('"msg":"pushed"')]);
  const to = newSnapshots();
  const { code, stderr } = await run(['--once', '--from', `s3://${BUCKET}/public`, '--to', to], {
    ...s3.environment,
    KEYS_STORE: stores.KEYS_STORE,
    SNAPSHOT_PUBLIC_KEYS: publicKey,
  });
  expect(code, stderr).toBe(0);
  expect(await expectCurrentVerifies(to)).toBe(currentId(origin));
  const keys = (dir: string) => readFileSync(path.join(dir, 'keys.json'), 'utf8');
  expect(keys(to)).toBe(keys(origin));
  expect(statSync(path.join(to, 'keys.json')).mode & 0o777).toBe(0o600);
  expect(await end(schedule, 'SIGTERM')).toBe(0);
});
