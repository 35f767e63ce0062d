/** `cover-catalogue doctor`: what it prints, how it ends, and what it leaves alone. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { type Check, type CheckContext, SkippedError } from '#cli/doctor/check.ts';
import { runCheck, runDoctor } from '#cli/doctor.ts';
import { exportKeys } from '#keys/export/export-keys.ts';
import { issueKey } from '#keys/lifecycle/reviews.ts';
import { createKeysTables } from '#keys/tables/schema.ts';
import { openDatabase } from '#lib/database/open.ts';
import { makeSampleSnapshots, makeSampleSqlite } from '#test/catalogue/snapshots.ts';
import { makeFolder, runCommand, startProxy } from '#test/support/product.ts';

const SECRET = 'f3a9c4d17b6e58209ad4';
/** Nothing listens there. */
const CLOSED = '1';

interface Report {
  worst: string;
  checks: { name: string; findings: { level: string; text: string; fix?: string }[] }[];
}

test.each<[string, Check['run'], object]>([
  ['fails', () => Promise.reject(new Error('broken')), { level: 'error', text: 'broken' }],
  [
    'has a fault of its own',
    async () => JSON.parse('null').member,
    { level: 'error', text: expect.stringMatching(/TypeError at .*doctor\.test\.ts.*report it/) },
  ],
  ['hangs', () => new Promise(() => {}), { level: 'error', text: expect.stringContaining('0.02') }],
  [
    'lacks something',
    () => Promise.reject(new SkippedError('no database', 'open it')),
    { level: 'skipped', text: 'no database', fix: 'open it' },
  ],
])('a check that %s becomes a finding', async (_, run, expected) => {
  const context: CheckContext = {
    values: {},
    faults: [],
    variables: {},
    programs: [],
    proxyUser: undefined,
  };
  const check = { name: 'check', programs: [], fix: 'type this', run };
  expect(await runCheck(check, context, 20)).toMatchObject([expected]);
});

test('a complete installation has one error if no schedule runs, and the doctor changes nothing', async () => {
  const DATABASE_URL = await makeSampleSqlite();
  const SNAPSHOTS_DIR = await makeSampleSnapshots();
  const database = await openDatabase(DATABASE_URL);
  await createKeysTables(database);
  await issueKey(database, { limit: 60, purpose: '', at: new Date() });
  await exportKeys(database, SNAPSHOTS_DIR);
  await database.close();
  const api = await startProxy(SNAPSHOTS_DIR);
  const ADMIN_PORT = new URL(api.adminUrl).port;
  const folders = [path.dirname(DATABASE_URL.slice('sqlite:'.length)), SNAPSHOTS_DIR];
  const everything = () =>
    folders.flatMap((folder) =>
      readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && !/-(?:wal|shm)$/.test(entry.name))
        .map((entry) => path.join(entry.parentPath, entry.name))
        .map((file) => [file, readFileSync(file, 'base64')]),
    );
  const before = everything();
  const variables = { DATABASE_URL, SNAPSHOTS_DIR, ADMIN_PORT };
  const { code, stdout, stderr } = await runCommand(runDoctor, ['--json'], variables);
  await api.stop();
  expect(everything()).toEqual(before);
  expect([code, stderr]).toEqual([1, '']);
  const { checks } = JSON.parse(stdout) as Report;
  const failed = checks.filter(({ findings }) => findings.some(({ level }) => level === 'error'));
  expect(failed.map(({ name }) => name)).toEqual(['running schedule']);
  const findings = checks.flatMap((check) => check.findings);
  expect(findings.filter(({ level, fix = '' }) => level !== 'ok' && fix === '')).toEqual([]);
});

test('all checks run after the first has failed, and every fault of the configuration is named', async () => {
  const { code, stdout } = await runCommand(runDoctor, ['--json'], {
    DATABASE_URL: 'sqlite:/no/such/file.db',
    SNAPSHOTS_DIR: makeFolder(),
    ADMIN_PORT: CLOSED,
    PORT: '99999',
    GENERATE_CRON: 'hourly',
    MAIL_FROM: 'nobody',
  });
  expect(code).toBe(1);
  const { checks } = JSON.parse(stdout) as Report;
  const of = (name: string) => checks.find((check) => check.name === name)?.findings;
  for (const name of ['PORT', 'GENERATE_CRON', 'MAIL_FROM']) {
    expect(of('configuration')).toContainEqual(
      expect.objectContaining({ text: expect.stringMatching(new RegExp(`^${name} `)) }),
    );
  }
  expect(of('database')).toMatchObject([
    { level: 'error', text: expect.stringContaining('There is no database file') },
  ]);
  for (const name of ['grants', 'sample records', 'tables of API keys']) {
    expect(of(name)).toMatchObject([
      { level: 'skipped', fix: expect.stringContaining('"database"') },
    ]);
  }
  expect(checks.at(-1)?.name).toBe('running account pages');
});

test('secrets are in no output, neither in findings nor in what servers say', async () => {
  const { code, stdout, stderr } = await runCommand(
    runDoctor,
    ['--for', 'schedule', '--for', 'account', '--for', 'replica'],
    {
      DATABASE_URL: `mysql://covers:${SECRET}@127.0.0.1:${CLOSED}/catalogue`,
      SMTP_URL: `smtp://covers:${SECRET}@127.0.0.1:${CLOSED}`,
      LIMITS_URL: `redis://:${SECRET}@127.0.0.1:${CLOSED}`,
      SITE_JWT_SECRET: SECRET,
      EXPLORER_KEY: `cck_${SECRET}`,
      SNAPSHOT_SIGNING_KEY: `cover-catalogue-private-key:${SECRET}`,
      AWS_ACCESS_KEY_ID: `id${SECRET}`,
      AWS_SECRET_ACCESS_KEY: SECRET,
      SNAPSHOT_PUSH: `https://covers:${SECRET}@store.catalogue.net/x`,
      REPLICA_FROM: `https://covers:${SECRET}@store.catalogue.net/x`,
      SITE_URL: `https://covers:${SECRET}@catalogue.net`,
    },
  );
  expect(code).toBe(1);
  expect(stdout).toContain('The mail server');
  expect(stdout + stderr).not.toContain(SECRET);
});

test('a proxy needs no DATABASE_URL, and with --strict, warnings end with 1', async () => {
  const variables = { SNAPSHOTS_DIR: makeFolder(), ADMIN_PORT: CLOSED };
  const { code, stdout } = await runCommand(runDoctor, ['--for', 'proxy', '--strict'], variables);
  expect(code).toBe(1);
  expect(stdout).toMatch(/^Errors: 0, warnings: [1-9]/m);
  expect(stdout).not.toMatch(/^database$/m);
});

test('wrong arguments end with 2', async () => {
  const wrong = await runCommand(runDoctor, ['--for', 'nginx'], {});
  expect([wrong.code, wrong.stdout]).toEqual([2, '']);
  expect(wrong.stderr).toContain('"nginx"');
});
