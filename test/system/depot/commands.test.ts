/** `cover-catalogue push` and `replica` as commands: arguments, exit codes, signals, S3, OpenSSL's keys. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { runPush } from '#cli/push.ts';
import { runReplica } from '#cli/replica.ts';
import { openWritableDepot } from '#depot/open.ts';
import { currentId } from '#lib/generations/generations.ts';
import { makeSampleSnapshots, makeSampleSqlite } from '#test/catalogue/snapshots.ts';
import { startSchedule } from '#test/generator/schedule/start-schedule.ts';
import type { Texts } from '#test/support/processes.ts';
import { makeFolder, runCommand, runKeys } from '#test/support/product.ts';
import { newDepotFolder, readDepot, readStoredRelease } from '#test/support/replicas.ts';
import { BUCKET, startS3 } from '#test/support/servers/s3.ts';
import {
  expectCurrentVerifies,
  expectOneClearLine,
  makePublished,
  newSnapshots,
  runGenerator,
} from '#test/support/wholeness.ts';

const replica = (args: readonly string[], variables: Texts) =>
  runCommand(
    async (invocation) => (await runReplica(invocation, () => {})) ?? expect.unreachable(),
    args,
    variables,
  );

describe('the arguments', () => {
  const SNAPSHOTS_DIR = newSnapshots();
  const from = ['--from', newDepotFolder()];
  test.each<[string[], Texts, RegExp]>([
    [[], {}, /Neither --from nor REPLICA_FROM is set/],
    [[...from, '--interval', '0'], {}, /--interval must be a whole number/],
    [from, { KEYS_DEPOT: 'https://x' }, /KEYS_DEPOT must be a folder or s3/],
    [from, { KEYS_DEPOT: `${from[1]}/keys` }, /is within the depot of snapshots/],
    [from, { SNAPSHOT_PUBLIC_KEYS: 'x' }, /SNAPSHOT_PUBLIC_KEYS must name a file.*in PEM/],
  ])('of replica, %j with %j, are refused', async (args, environment, text) => {
    const { code, stdout, stderr } = await replica(args, { SNAPSHOTS_DIR, ...environment });
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(text);
  });

  test.each<[string[], Texts, RegExp]>([
    [[], {}, /Neither --to nor SNAPSHOT_PUSH is set/],
    [['--to', 'https://x'], {}, /can only be read/],
    [from, { SNAPSHOT_SIGNING_KEY: '/none' }, /SNAPSHOT_SIGNING_KEY must name a file.*ENOENT/],
  ])('of push, %j with %j, are refused', async (args, environment, text) => {
    const words = args.map((word) => word.replace('--from', '--to'));
    const { code, stderr } = await runCommand(runPush, words, { SNAPSHOTS_DIR, ...environment });
    expect(code).toBe(2);
    expect(stderr).toMatch(text);
  });
});

test('push and replica --once print what they did, with the keys of OpenSSL', async () => {
  const folder = makeFolder();
  const [privateKey, publicKey] = ['private.pem', 'public.pem'].map((name) =>
    path.join(folder, name),
  ) as [string, string];
  execFileSync('openssl', ['genpkey', '-algorithm', 'ed25519', '-out', privateKey]);
  execFileSync('openssl', ['pkey', '-in', privateKey, '-pubout', '-out', publicKey]);
  const depot = newDepotFolder();
  const variables = {
    SNAPSHOTS_DIR: await makeSampleSnapshots(),
    SNAPSHOT_SIGNING_KEY: privateKey,
  };
  const push = () => runCommand(runPush, ['--to', depot], variables);
  const id = currentId(variables.SNAPSHOTS_DIR);
  expect((await push()).stdout).toMatch(
    new RegExp(
      `^Pushed ${id} to ${depot}: \\d+ files sent \\(\\d\\.\\d MB\\), 0 were there; 0 old`,
    ),
  );
  expect((await push()).stdout).toBe(`${depot} has ${id} already; 0 old objects removed.\n`);
  const edge = { SNAPSHOTS_DIR: newSnapshots(), SNAPSHOT_PUBLIC_KEYS: publicKey };
  const args = ['--once', '--from', depot];
  expect((await replica(args, edge)).stdout).toMatch(
    new RegExp(`^Published ${id}: \\d+ games, .* files fetched with`),
  );
  expect(await replica(args, edge)).toMatchObject({
    code: 0,
    stdout: `Nothing is newer than ${id}, which stays current.\n`,
  });
  const wrong = await replica(args, { ...edge, SNAPSHOT_PUBLIC_KEYS: privateKey });
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringMatching(/holds a private key/)]);
  expect(wrong.stderr).not.toContain(readFileSync(privateKey, 'utf8').split('\n')[1]);
  writeFileSync(path.join(depot, 'release.json'), '{}');
  expect(await replica(args, edge)).toMatchObject({ code: 3, stdout: '' });
  expect(currentId(edge.SNAPSHOTS_DIR)).toBe(id);
});

test('snapshots and keys travel through S3', async () => {
  const s3 = await startS3();
  const databaseUrl = await makeSampleSqlite();
  const origin = await makeSampleSnapshots();
  await runKeys(databaseUrl, ['issue']);
  const KEYS_DEPOT = `s3://${BUCKET}/private`;
  const schedule = startSchedule(databaseUrl, origin, {
    ...{ ...s3.environment, GENERATE_CRON: 'off', KEYS_DEPOT },
    SNAPSHOT_PUSH: `s3://${BUCKET}/public`,
  });
  await schedule.logged('sent the keys to replicas');
  await schedule.logged('"msg":"pushed"');
  const SNAPSHOTS_DIR = newSnapshots();
  const variables = { SNAPSHOTS_DIR, ...s3.environment, KEYS_DEPOT };
  const { code, stderr } = await replica(['--once', '--from', `s3://${BUCKET}/public`], variables);
  expect(code, stderr).toBe(0);
  expect(await expectCurrentVerifies(SNAPSHOTS_DIR)).toBe(currentId(origin));
  const keys = (dir: string) => readFileSync(path.join(dir, 'keys.json'), 'utf8');
  expect(keys(SNAPSHOTS_DIR)).toBe(keys(origin));
  expect(statSync(path.join(SNAPSHOTS_DIR, 'keys.json')).mode & 0o777).toBe(0o600);
  expect(await schedule.stop()).toBe(0);
});

describe('a run of the generator', () => {
  test('pushes what it publishes, and warns if that fails', async () => {
    const { database, snapshotsDir } = await makePublished();
    const SNAPSHOT_PUSH = newDepotFolder();
    const depot = openWritableDepot(SNAPSHOT_PUSH);
    await database.change();
    expect(await runGenerator(database.url, snapshotsDir, [], { SNAPSHOT_PUSH })).toMatchObject({
      code: 0,
    });
    expect((await readDepot(depot)).release.id).toBe(currentId(snapshotsDir));
    await database.change();
    const gone = { SNAPSHOT_PUSH: `${SNAPSHOT_PUSH}-gone` };
    const { code, stderr } = await runGenerator(database.url, snapshotsDir, [], gone);
    expect(code).toBe(0);
    expect(stderr).toMatch(/Warning: nothing was pushed: .*does not exist/);
    expect((await readStoredRelease(depot)).id).not.toBe(currentId(snapshotsDir));
    expect(existsSync(gone.SNAPSHOT_PUSH)).toBe(false);
    mkdirSync(gone.SNAPSHOT_PUSH);
    await runGenerator(database.url, snapshotsDir, [], gone);
    expect((await readStoredRelease(openWritableDepot(gone.SNAPSHOT_PUSH))).id).toBe(
      currentId(snapshotsDir),
    );
  });

  test('does not start with a depot that can only be read', async () => {
    const { database, snapshotsDir } = await makePublished();
    const SNAPSHOT_PUSH = 'https://a.example';
    const run = await runGenerator(database.url, snapshotsDir, [], { SNAPSHOT_PUSH });
    expect(expectOneClearLine(run, 2)).toMatch(/can only be read/);
  });
});
