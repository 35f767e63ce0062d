/** Programs whose log nobody reads any more, or that a full disk does not take: they go on, and end. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { makeAccounts } from './account.ts';
import { makeDatabase } from './databases.ts';
import { freePort } from './ports.ts';
import { flagsOf } from './processes.ts';
import { end, makeFolder, ROOT, send, until } from './product.ts';

/** Longer than any of them takes to end, shorter than the test. */
const DEADLINE_MS = 8_000;

const PROGRAMS: readonly (readonly [
  name: string,
  program: string,
  more: Record<string, string>,
])[] = [
  ['the account pages', 'keys/web/main.ts', {}],
  ['the schedule', 'generator/schedule.ts', {}],
  ['the proxy', 'proxy/main.ts', {}],
  ['the proxy with three threads', 'proxy/main.ts', { PROXY_THREADS: '3' }],
];

/** Starts a program and waits until it serves, or for the schedule, until it has logged. */
async function start(program: string, stderr: 'pipe' | number, more: Record<string, string>) {
  const databaseUrl = await makeDatabase('sqlite');
  await makeAccounts(databaseUrl);
  const snapshotsDir = path.join(makeFolder(), 'snapshots');
  mkdirSync(snapshotsDir);
  const port = await freePort();
  const child = spawn(process.execPath, [...flagsOf(program), path.join(ROOT, program)], {
    cwd: makeFolder(),
    stdio: ['ignore', 'ignore', stderr],
    env: {
      PATH: process.env.PATH ?? '',
      DATABASE_URL: databaseUrl,
      SNAPSHOTS_DIR: snapshotsDir,
      MAIL_FOLDER: makeFolder(),
      PORT: String(port),
      KEYS_PORT: String(port),
      ADMIN_PORT: '0',
      LOG_LEVEL: 'debug',
      ...more,
    },
  });
  if (program !== 'generator/schedule.ts') {
    const url = `http://127.0.0.1:${port}/account/sign-in`;
    await until(async () => (await send(url).catch(() => undefined)) !== undefined);
  }
  // Signals are handled a moment after the first port is open.
  await pause(1_000);
  return child;
}

/** SIGTERM. @returns the exit code; "too late" if the program had to be killed */
async function terminate(child: ChildProcess): Promise<number | null | 'too late'> {
  const late = pause(DEADLINE_MS, 'too late' as const, { ref: false });
  const code = await Promise.race([end(child, 'SIGTERM'), late]);
  if (code === 'too late') await end(child, 'SIGKILL');
  return code;
}

test.concurrent.each(PROGRAMS)(
  'SIGTERM ends %s with 0 when the reader of its log is gone',
  async (...args) => {
    const [, program, more] = args;
    const child = await start(program, 'pipe', more);
    child.stderr?.destroy();
    await pause(100);
    expect(await terminate(child)).toBe(0);
  },
);

test.concurrent.each(PROGRAMS)(
  'SIGTERM ends %s with 0, and nothing before, when the disk of its log is full',
  async (...args) => {
    const [, program, more] = args;
    const full = openSync('/dev/full', 'w');
    const child = await start(program, full, more);
    closeSync(full);
    await pause(100);
    expect(child.exitCode).toBeNull();
    expect(await terminate(child)).toBe(0);
  },
);
