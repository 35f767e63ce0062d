/** Values of variables that are valid but probably not meant. */
import { availableParallelism } from 'node:os';
import { expect, test } from 'vitest';
import { configuration } from '../../../doctor/checks/configuration.ts';
import type { Program } from '../../../doctor/findings/check.ts';
import { examine, faultsIn } from '../installation.ts';

const SOUND = {
  DATABASE_URL: 'sqlite:catalogue.db',
  SITE_URL: 'https://covers.catalogue.net',
  FILES_URL: 'https://files.catalogue.net',
  PUBLIC_URL: 'https://api.catalogue.net',
  TRUSTED_PROXIES: '127.0.0.1',
  SMTP_URL: 'smtp://mail.catalogue.net',
  MAIL_FROM: 'covers@catalogue.net',
};

const findingsFor = (variables: Record<string, string>, programs: readonly Program[]) =>
  examine(configuration, variables, { programs });

test('sound values cause no warning', async () => {
  const findings = await findingsFor(SOUND, ['schedule', 'proxy', 'account']);
  expect(faultsIn(findings)).toEqual([]);
  // The proxy makes no records, so it needs no addresses of the site.
  const { PUBLIC_URL, TRUSTED_PROXIES } = SOUND;
  expect(faultsIn(await findingsFor({ PUBLIC_URL, TRUSTED_PROXIES }, ['proxy']))).toEqual([]);
});

test('a program needs no access to files of another program', async () => {
  const variables = {
    SITE_URL: 'https://my-example.org',
    FILES_URL: 'https://files.catalogue.net/example/',
    PUBLIC_URL: SOUND.PUBLIC_URL,
    TRUSTED_PROXIES: '127.0.0.1',
    MAIL_FOLDER: '/etc/passwd/mail',
    SITE_JWKS: '/no/such/keys.json',
  };
  const ofProxy = await findingsFor(variables, ['proxy']);
  expect(faultsIn(ofProxy)).toEqual([]);
  const ofAccount = await findingsFor({ ...SOUND, ...variables, SMTP_URL: '' }, ['account']);
  const errors = ofAccount.filter(({ level }) => level === 'error').map(({ text }) => text);
  expect(errors).toEqual([
    expect.stringMatching(/^SITE_JWKS /),
    expect.stringMatching(/^MAIL_FOLDER /),
  ]);
});

test('account pages for other machines must know the proxies in front of them', async () => {
  const remote = { ...SOUND, HOST: '0.0.0.0', ACCOUNT_HOST: '0.0.0.0' };
  const warningsWith = async (trusted: string) => {
    const found = await findingsFor({ ...remote, TRUSTED_PROXIES: trusted }, ['account']);
    return found.filter(({ level }) => level === 'warning').map(({ text }) => text);
  };
  expect(await warningsWith('')).toEqual([expect.stringContaining('all visitors share the limit')]);
  expect(await warningsWith('10.0.0.1')).toEqual([]);
});

test.each([
  ['SITE_URL', 'https://covers.example.org', 'covers.example.org, a name that is reserved'],
  ['FILES_URL', 'https://files.example.net/covers', 'files.example.net, a name that is reserved'],
  ['MAIL_FROM', 'Covers <no-reply@example.com>', 'contains example.com, a name that is reserved'],
  ['SMTP_URL', 'smtp://user:password@mail.example.org:587', 'contains mail.example.org'],
  ['SITE_URL', 'http://localhost:8080', 'only this machine can reach'],
  ['PUBLIC_URL', 'http://api.catalogue.net', 'without encryption'],
  ['TRUSTED_PROXIES', '', 'all clients of nginx share the limit'],
  ['ADMIN_HOST', '0.0.0.0', 'other machines may read'],
  ['LOG_LEVEL', 'silent', 'no failure is logged'],
  ['SMTP_URL', '', 'nobody receives them'],
  ['PROXY_THREADS', String(availableParallelism() + 1), 'this machine has'],
  ['SNAPSHOT_PUSH', '/srv/depot', 'SNAPSHOT_SIGNING_KEY is not'],
  ['REPLICA_FROM', '/srv/depot', 'SNAPSHOT_PUBLIC_KEYS is not set'],
])('%s=%s causes a warning', async (name, value, expected) => {
  const programs = ['schedule', 'proxy', 'account', 'replica'] as const;
  const findings = await findingsFor({ ...SOUND, [name]: value }, programs);
  expect(findings.filter(({ level }) => level === 'warning')).toEqual([
    { level: 'warning', text: expect.stringContaining(expected), fix: expect.any(String) },
  ]);
});
