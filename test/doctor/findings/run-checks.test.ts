/** Checks that fail, never end or lack something do not stop the others, and secrets are removed. */
import { expect, test } from 'vitest';
import { CannotRun, type Check, type Scene } from '../../../doctor/findings/check.ts';
import { runChecks, worstOf } from '../../../doctor/findings/run-checks.ts';
import { makeRedaction } from '../../../doctor/findings/secrets.ts';

const SCENE: Scene = {
  values: {},
  faults: [],
  misspelled: [],
  variables: {},
  programs: [],
  proxyUser: undefined,
  database: () => Promise.reject(new CannotRun('no database', 'open it')),
};

function check(name: string, run: Check['run']): Check {
  return { name, programs: [], run };
}

test('every check has a result, whatever happens to it', async () => {
  const late: (() => void)[] = [];
  const checks = [
    check('fails', () => Promise.reject(new Error('broken'))),
    check('hangs', (_, { ok, warn }) => {
      ok('found before');
      late.push(() => warn('found too late', 'none'));
      return new Promise(() => {});
    }),
    check('lacks', async ({ database }) => void (await database())),
    check('works', async (_, { ok }) => {
      for (const report of late) report();
      ok('fine');
    }),
  ];
  const results = await runChecks(checks, SCENE, { limitMs: 50, redact: (text) => text });
  expect(results.map(({ name, findings }) => [name, findings])).toEqual([
    ['fails', [{ level: 'error', text: 'This check failed: broken', fix: expect.any(String) }]],
    [
      'hangs',
      [
        { level: 'ok', text: 'found before' },
        {
          level: 'error',
          text: 'This check did not end within 0.05 seconds.',
          fix: expect.stringContaining('Find out what is slow'),
        },
      ],
    ],
    ['lacks', [{ level: 'skipped', text: 'no database', fix: 'open it' }]],
    ['works', [{ level: 'ok', text: 'fine' }]],
  ]);
  expect(worstOf(results)).toBe('error');
  expect(worstOf(results.slice(2))).toBe('skipped');
});

test.each([
  [
    { DATABASE_URL: 'mysql://u:p%40ssword%23@h/n' },
    'wrong: p@ssword# or p%40ssword%23',
    'wrong: *** or ***',
  ],
  [{ SITE_JWT_SECRET: 'abcdefgh' }, 'got abcdefgh.', 'got ***.'],
  [
    { LIMITS_URL: 'redis+sentinel://:secret1@a,b/n?sentinelPassword=secret2' },
    'secret1 secret2',
    '*** ***',
  ],
  [{ SNAPSHOT_SIGNING_KEY: 'key.file' }, 'no such file: key.file', 'no such file: key.file'],
  [{ LOG_LEVEL: 'silent' }, 'LOG_LEVEL is silent', 'LOG_LEVEL is silent'],
  [{}, 'at https://user:abc@host/', 'at https://user:***@host/'],
  [{}, 'key cck_Abc-123_x is wrong', 'key *** is wrong'],
  // Too short to be removed everywhere, but not where an address has it.
  [{ DATABASE_URL: 'mysql://u:x@h/n' }, 'next: mysql://u:x@h/n', 'next: mysql://u:***@h/n'],
])('with %j, "%s" is printed as "%s"', (variables, text, expected) => {
  expect(makeRedaction(variables, (value) => value === 'key.file')(text)).toBe(expected);
});
