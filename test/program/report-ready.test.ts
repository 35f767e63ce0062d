/** Reporting to systemd. That it restarts a program that hangs is tested with systemd, in test/soak. */
import { chmodSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { reportReady } from '../../program/service.ts';
import { makeLog } from '../support/log.ts';
import { makeFolder } from '../support/product.ts';

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
