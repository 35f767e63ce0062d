/** Values of variables that are valid but probably not meant. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import type { Program } from '#cli/doctor/check.ts';
import { configuration } from '#cli/doctor/checks/configuration.ts';
import { depots } from '#cli/doctor/checks/depots.ts';
import { encodeRelease, makeRelease } from '#lib/format/release.ts';
import { currentId } from '#lib/generations/generations.ts';
import { makeSampleSnapshots } from '#test/catalogue/snapshots.ts';
import { makeFolder, testKey } from '#test/support/product.ts';
import { examine, faultsIn } from './examine.ts';

const SOUND = {
  SITE_URL: 'https://covers.catalogue.net',
  FILES_URL: 'https://files.catalogue.net',
  PUBLIC_URL: 'https://api.catalogue.net',
  TRUSTED_PROXIES: '127.0.0.1',
  SMTP_URL: 'smtp://mail.catalogue.net',
  MAIL_FROM: 'covers@catalogue.net',
};

const faultsFor = async (variables: Record<string, string>, programs: readonly Program[]) =>
  faultsIn(await examine(configuration, variables, programs));

test('a program needs no access to files of another program', async () => {
  const variables = { MAIL_FOLDER: '/etc/passwd/mail', SITE_JWKS: '/no/such/keys.json' };
  const { PUBLIC_URL, TRUSTED_PROXIES } = SOUND;
  expect(await faultsFor({ ...variables, PUBLIC_URL, TRUSTED_PROXIES }, ['proxy'])).toEqual([]);
  const ofAccount = await faultsFor({ ...SOUND, ...variables, SMTP_URL: '' }, ['account']);
  expect(ofAccount).toMatchObject([
    { level: 'error', text: expect.stringMatching(/^DATABASE_URL /) },
    { level: 'error', text: expect.stringMatching(/^SITE_JWKS /) },
    { level: 'error', text: expect.stringMatching(/^MAIL_FOLDER /) },
  ]);
});

test('a .env that others can read is an error if it has a password', async () => {
  const before = process.cwd();
  const folder = makeFolder();
  writeFileSync(path.join(folder, '.env'), '', { mode: 0o644 });
  process.chdir(folder);
  try {
    const find = (DATABASE_URL: string) => faultsFor({ ...SOUND, DATABASE_URL }, ['schedule']);
    const fix = 'Run: chmod 600 .env';
    expect(await find('sqlite:a.db')).toMatchObject([{ level: 'warning', fix }]);
    const [found] = await find('mysql://me:secret@host/catalogue');
    expect(found).toMatchObject({ level: 'error', fix });
    expect(found?.text).toContain('DATABASE_URL holds a secret');
  } finally {
    process.chdir(before);
  }
});

test('each fault of the configuration says what to type', async () => {
  const [found] = await faultsFor({ ...SOUND, DATABASE_URL: 'mysql://a:b/c@d/e' }, ['schedule']);
  expect(found?.text).toContain('"/" as "%2F"');
  expect(found?.fix).toContain("grep -B 2 'DATABASE_URL=' .env.example");
});

test('depots are looked at: whether something was pushed, and whether it is current', async () => {
  const SNAPSHOTS_DIR = await makeSampleSnapshots();
  const [SNAPSHOT_PUSH, KEYS_DEPOT] = [makeFolder(), makeFolder()];
  const variables = { ...SOUND, SNAPSHOTS_DIR, SNAPSHOT_PUSH, KEYS_DEPOT };
  const find = () => examine(depots, variables, ['schedule']);
  expect(await examine(depots, { SNAPSHOTS_DIR }, ['schedule'])).toMatchObject([{ level: 'ok' }]);
  const push = { level: 'warning', fix: 'Run at the origin: cover-catalogue push' };
  expect((await find())[0]).toMatchObject(push);
  const release = (id: string) =>
    writeFileSync(
      path.join(SNAPSHOT_PUSH, 'release.json'),
      encodeRelease(
        makeRelease('snapshot', { id, sequence: 1, sha256: 'a'.repeat(64), released_at: null }),
      ),
    );
  release('000009-0123456789ab');
  expect((await find())[0]).toMatchObject(push);
  release(currentId(SNAPSHOTS_DIR) ?? '');
  expect((await find())[0]).toMatchObject({ level: 'ok' });
  const gone = { ...variables, SNAPSHOT_PUSH: '/no/such/depot', KEYS_DEPOT: '' };
  expect(await examine(depots, gone, ['schedule'])).toMatchObject([{ level: 'error' }]);
});

test('a site without an explorer is sound, and the doctor says how to make one', async () => {
  const find = (more: object) => examine(configuration, { ...SOUND, ...more }, ['proxy']);
  const hint = {
    level: 'ok',
    text: expect.stringContaining('"cover-catalogue keys issue --for-explorer"'),
  };
  expect(await find({})).toContainEqual(hint);
  expect(await find({ EXPLORER_KEY: testKey(1).key })).not.toContainEqual(hint);
  for (const key of ['cck_', 'key', `cck_${'a'.repeat(38)}`]) {
    const text = 'EXPLORER_KEY must be an API key, such as cck_…, exactly as it was issued.';
    expect(await find({ EXPLORER_KEY: key })).toContainEqual({
      ...{ level: 'error', text, fix: expect.any(String) },
    });
  }
});

test.each([
  ['SITE_URL', 'https://covers.example.org', 'covers.example.org, a name that is reserved'],
  ['MAIL_FROM', 'Covers <no-reply@example.com>', 'contains example.com, a name that is reserved'],
  ['SMTP_URL', 'smtp://user:password@mail.example.org:587', 'contains mail.example.org'],
  ['SITE_URL', 'http://localhost:8080', 'only this machine can reach'],
  ['PUBLIC_URL', 'http://api.catalogue.net', 'without encryption'],
  ['TRUSTED_PROXIES', '', 'all clients of nginx share the limit'],
  ['SNAPSHOT_PUSH', '/srv/store', 'SNAPSHOT_SIGNING_KEY is not'],
  ['REPLICA_FROM', '/srv/store', 'SNAPSHOT_PUBLIC_KEYS is not set'],
])('%s=%s causes a warning, and nothing else does', async (name, value, expected) => {
  const variables = { ...SOUND, DATABASE_URL: 'sqlite:catalogue.db', [name]: value };
  const programs = ['schedule', 'proxy', 'account', 'replica'] as const;
  expect(await faultsFor(variables, programs)).toEqual([
    { level: 'warning', text: expect.stringContaining(expected), fix: expect.any(String) },
  ]);
});
