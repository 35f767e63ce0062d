/** Programs as processes: signals before they listen, output that cannot be written, reports to systemd. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import path from 'node:path';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { reportReady } from '../../program/service.ts';
import { makeSampleSnapshots } from '../catalogue/snapshots.ts';
import { makeLog } from '../support/log.ts';
import { end, makeFolder, ROOT, startProgram } from '../support/product.ts';

test('SIGTERM ends a proxy with 0 whose serving threads are still starting', async () => {
  const child = startProgram('proxy/main.ts', [], {
    SNAPSHOTS_DIR: await makeSampleSnapshots(),
    PROXY_THREADS: '4',
    PORT: '0',
    ADMIN_PORT: '0',
  });
  const log = makeLog();
  child.stderr?.setEncoding('utf8').on('data', log.write);
  // The threads listen some milliseconds later.
  await log.logged('serving a generation');
  expect(await end(child, 'SIGTERM')).toBe(0);
});

test('SIGINT ends the account pages with 0 while they wait for their database', async () => {
  // Accepts connections and never answers.
  const database = createServer().listen(0, '127.0.0.1');
  await once(database, 'listening');
  const { port } = database.address() as AddressInfo;
  const child = startProgram('keys/account/main.ts', [], {
    DATABASE_URL: `mysql://me:secret@127.0.0.1:${port}/catalogue`,
    MAIL_FOLDER: makeFolder(),
    ACCOUNT_PORT: '0',
  });
  child.stderr?.resume();
  await once(database, 'connection');
  expect(await end(child, 'SIGINT')).toBe(0);
  database.close();
});

test('a command whose reader is gone ends without a message, as after SIGPIPE', async () => {
  const child = startProgram('commands/snapshot.ts', ['list'], {
    SNAPSHOTS_DIR: await makeSampleSnapshots(),
  });
  let errors = '';
  child.stderr?.setEncoding('utf8').on('data', (text) => {
    errors += text;
  });
  child.stdout?.destroy();
  const code = await new Promise((resolve) => child.once('close', resolve));
  expect({ code, errors }).toEqual({ code: 141, errors: '' });
});

test('a command whose output meets a full disk ends with 1 and says so', async () => {
  const { status, stderr } = spawnSync(
    'sh',
    ['-c', '"$0" "$1" list >/dev/full', process.execPath, path.join(ROOT, 'commands/snapshot.ts')],
    { encoding: 'utf8', env: { ...process.env, SNAPSHOTS_DIR: await makeSampleSnapshots() } },
  );
  expect(status).toBe(1);
  expect(stderr).toContain('The output could not be written: ');
});

/** Reports with a `systemd-notify` that fails at one message. @returns the reason in the warning */
async function reasonFor(message: string, environment: Record<string, string>): Promise<string> {
  const folder = makeFolder();
  const notify = path.join(folder, 'systemd-notify');
  writeFileSync(
    notify,
    `#!/bin/sh\n[ "$1" = ${message} ] && echo "got $1" >&2 && exit 1\nexit 0\n`,
  );
  chmodSync(notify, 0o755);
  const log = makeLog();
  const PATH = `${folder}:${process.env.PATH}`;
  reportReady(pino({}, log), { NOTIFY_SOCKET: '/run/notify', PATH, ...environment });
  return JSON.parse(await log.logged('systemd cannot be told that this program is ready')).reason;
}

test('a program says that it is ready, and warns if systemd cannot be told', async () => {
  expect(await reasonFor('READY=1', {})).toBe('got READY=1');
});

test('a program whose unit has a watchdog says that it is alive', async () => {
  expect(await reasonFor('WATCHDOG=1', { WATCHDOG_USEC: '3000' })).toBe('got WATCHDOG=1');
});

test('a program outside of systemd starts nothing', () => {
  const processes = () =>
    process.getActiveResourcesInfo().filter((name) => name === 'ProcessWrap').length;
  const before = processes();
  reportReady(pino({}, makeLog()), { PATH: process.env.PATH });
  expect(processes()).toBe(before);
});
