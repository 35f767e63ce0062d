/** Values of variables that are valid but probably not meant. */
import { expect, test } from 'vitest';
import type { Program } from '#cli/doctor/check.ts';
import { configuration } from '#cli/doctor/checks/configuration.ts';
import { testKey } from '#test/support/product.ts';
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

test('a site without an explorer is sound, and the doctor says how to make one', async () => {
  const find = (more: object) => examine(configuration, { ...SOUND, ...more }, ['proxy']);
  const hint = {
    level: 'ok',
    text: expect.stringContaining('"cover-catalogue keys issue --for-explorer"'),
  };
  expect(await find({})).toContainEqual(hint);
  expect(await find({ EXPLORER_KEY: testKey(1).key })).not.toContainEqual(hint);
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
