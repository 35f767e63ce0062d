/** Values of variables that are valid but probably not meant. */
import { availableParallelism } from 'node:os';
import { expect, test } from 'vitest';
import { configuration, readConfiguration } from '../../../doctor/checks/configuration.ts';
import type { Program } from '../../../doctor/findings/check.ts';
import { runChecks } from '../../../doctor/findings/run-checks.ts';

const SOUND = {
  DATABASE_URL: 'sqlite:catalogue.db',
  SITE_URL: 'https://covers.catalogue.net',
  FILES_URL: 'https://files.catalogue.net',
  PUBLIC_URL: 'https://api.catalogue.net',
  TRUSTED_PROXIES: '127.0.0.1',
  SMTP_URL: 'smtp://mail.catalogue.net',
  MAIL_FROM: 'covers@catalogue.net',
};

async function findingsFor(variables: Record<string, string>, programs: readonly Program[]) {
  const scene = {
    ...readConfiguration(programs, variables),
    ...{ misspelled: [], variables, programs, proxyUser: undefined },
    database: () => Promise.reject(new Error('not needed')),
  };
  const options = { limitMs: 5_000, redact: (text: string) => text };
  const [result] = await runChecks([configuration], scene, options);
  return result?.findings ?? [];
}

test('sound values cause no warning', async () => {
  const findings = await findingsFor(SOUND, ['schedule', 'proxy', 'account']);
  expect(findings.filter(({ level }) => level !== 'ok')).toEqual([]);
});

test.each([
  ['SITE_URL', 'https://covers.example.org', 'a placeholder'],
  ['SMTP_URL', 'smtp://user:password@mail.example.org:587', 'a placeholder'],
  ['SITE_URL', 'http://localhost:8080', 'only this machine can reach'],
  ['PUBLIC_URL', 'http://api.catalogue.net', 'without encryption'],
  ['TRUSTED_PROXIES', '', 'all clients of nginx share the limit'],
  ['ADMIN_HOST', '0.0.0.0', 'other machines may read'],
  ['LOG_LEVEL', 'silent', 'no failure is logged'],
  ['SMTP_URL', '', 'nobody receives them'],
  ['PROXY_THREADS', String(availableParallelism() + 1), 'this machine has'],
  ['SNAPSHOT_MEMORY_MB', '999999', 'more than half of the memory'],
  ['SNAPSHOT_PUSH', '/srv/store', 'SNAPSHOT_SIGNING_KEY is not'],
  ['REPLICA_FROM', '/srv/store', 'SNAPSHOT_PUBLIC_KEYS is not set'],
])('%s=%s causes a warning', async (name, value, expected) => {
  const programs = ['schedule', 'proxy', 'account', 'replica'] as const;
  const findings = await findingsFor({ ...SOUND, [name]: value }, programs);
  expect(findings.filter(({ level }) => level === 'warning')).toEqual([
    { level: 'warning', text: expect.stringContaining(expected), fix: expect.any(String) },
  ]);
});
