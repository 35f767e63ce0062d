/** Programs as processes: signals before they listen, output that cannot be written, reports to systemd. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { pino } from 'pino';
import { expect, onTestFinished, test, vi } from 'vitest';
import { reportReady } from '#lib/program/service.ts';
import { makeSampleSnapshots } from '#test/catalogue/snapshots.ts';
import { makeLog } from '#test/support/log.ts';
import { end, makeFolder, ROOT, startProgram } from '#test/support/product.ts';
import { listenOn } from '#test/support/servers/sockets.ts';

test('SIGTERM ends a proxy with 0 whose serving threads are still starting, and it says so once', async () => {
  const child = startProgram('proxy', [], {
    SNAPSHOTS_DIR: await makeSampleSnapshots(),
    PROXY_THREADS: '4',
    PORT: '0',
    ADMIN_PORT: '0',
  });
  const log = makeLog();
  child.stderr?.setEncoding('utf8').on('data', log.write);
  // The threads listen some milliseconds later.
  await log.logged('serving a generation');
  const closed = once(child, 'close');
  expect(await end(child, 'SIGTERM')).toBe(0);
  await closed;
  expect(log.text().match(/"stopped"/g)).toEqual(['"stopped"']);
});

test('SIGINT ends the account pages with 0 while they wait for their database', async () => {
  // Accepts connections and never answers.
  const database = createServer();
  const port = await listenOn(database);
  const child = startProgram('account', [], {
    DATABASE_URL: `mysql://me:secret@127.0.0.1:${port}/catalogue`,
    MAIL_FOLDER: makeFolder(),
    ACCOUNT_PORT: '0',
  });
  child.stderr?.resume();
  await once(database, 'connection');
  expect(await end(child, 'SIGINT')).toBe(0);
});

test('a command whose reader is gone ends without a message, as after SIGPIPE', async () => {
  const child = startProgram('snapshot', ['list'], {
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
    ['-c', '"$0" "$1" snapshot list >/dev/full', process.execPath, path.join(ROOT, 'cli/main.ts')],
    { encoding: 'utf8', env: { ...process.env, SNAPSHOTS_DIR: await makeSampleSnapshots() } },
  );
  expect(status).toBe(1);
  expect(stderr).toContain('The output could not be written: ');
});

test('a program whose unit has Type=notify warns if systemd-notify fails', async () => {
  const folder = makeFolder();
  const notify = path.join(folder, 'systemd-notify');
  writeFileSync(notify, '#!/bin/sh\necho "got $1" >&2; exit 1\n', { mode: 0o755 });
  onTestFinished(() => void vi.unstubAllEnvs());
  vi.stubEnv('PATH', `${folder}:${process.env.PATH}`);
  const log = makeLog();
  reportReady(pino({}, log));
  vi.stubEnv('NOTIFY_SOCKET', '/run/notify');
  reportReady(pino({}, log));
  expect(JSON.parse(await log.logged('systemd cannot be told')).reason).toContain('got --ready');
  expect(log.text()).not.toMatch(/\n./);
});
