/** Programs keep running, and end properly, when the reader of their log is gone or its disk is full. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { KEYS_FILE } from '../../format/layout.ts';
import { makeAccounts } from '../support/account.ts';
import { makeDatabase } from '../support/databases.ts';
import { COMPILE_CACHE, flagsOf } from '../support/processes.ts';
import { end, makeFolder, ROOT, send, startProgram, until } from '../support/product.ts';
import { freePort } from '../support/servers/ports.ts';

/** Longer than any of them takes to end, shorter than the timeout of the test. */
const DEADLINE_MS = 15_000;
const PAGES = ['the account pages', 'keys/account/main.ts'] as const;
const SCHEDULE = ['the schedule', 'generator/cli/schedule.ts'] as const;
const PROXY = ['the proxy', 'proxy/main.ts'] as const;

async function makeEnvironment(): Promise<Record<string, string>> {
  const databaseUrl = await makeDatabase('sqlite');
  await makeAccounts(databaseUrl);
  return {
    DATABASE_URL: databaseUrl,
    SNAPSHOTS_DIR: makeFolder(),
    MAIL_FOLDER: makeFolder(),
    PORT: '0',
    ACCOUNT_PORT: '0',
    ADMIN_PORT: '0',
    LOG_LEVEL: 'debug',
  };
}

/** Sends SIGTERM. @returns the exit code; "too late" if the program had to be killed */
async function terminate(child: ChildProcess): Promise<number | null | 'too late'> {
  const late = pause(DEADLINE_MS, 'too late' as const, { ref: false });
  const code = await Promise.race([end(child, 'SIGTERM'), late]);
  if (code === 'too late') await end(child, 'SIGKILL');
  return code;
}

test.each([
  [...PAGES, '1'],
  [...SCHEDULE, '1'],
  [...PROXY, '1'],
  [...PROXY, '3'],
])('SIGTERM ends %s with 0 when the reader of its log is gone', async (...args) => {
  const [, program, threads] = args;
  const environment = { ...(await makeEnvironment()), PROXY_THREADS: threads };
  const child = startProgram(program, [], environment);
  let log = '';
  child.stderr?.on('data', (text) => {
    log += text;
  });
  await until(() => /"msg":"(?:listening|scheduled)"/.test(log));
  child.stderr?.destroy();
  await pause(100);
  expect(await terminate(child)).toBe(0);
});

test.each([PAGES, SCHEDULE, PROXY])(
  'a full disk for its log does not stop %s, and SIGTERM ends it with 0',
  async (_name, program) => {
    const full = openSync('/dev/full', 'w');
    const port = String(await freePort());
    const environment = { ...(await makeEnvironment()) };
    environment.PORT = environment.ACCOUNT_PORT = port;
    const child = spawn(process.execPath, [...flagsOf(program), path.join(ROOT, program)], {
      cwd: makeFolder(),
      stdio: ['ignore', 'ignore', full],
      env: { PATH: process.env.PATH, ...COMPILE_CACHE, ...environment },
    });
    closeSync(full);
    const keysFile = path.join(environment.SNAPSHOTS_DIR as string, KEYS_FILE);
    const url = `http://127.0.0.1:${port}/account/sign-in`;
    await until(async () =>
      program === SCHEDULE[1]
        ? existsSync(keysFile)
        : (await send(url).catch(() => undefined)) !== undefined,
    );
    await pause(500);
    expect(child.exitCode).toBeNull();
    expect(await terminate(child)).toBe(0);
  },
);
