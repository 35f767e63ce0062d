/** Programs keep running, and end properly, when the reader of their log is gone or its disk is full. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { makeAccounts } from '#test/support/account.ts';
import { COMPILE_CACHE, commandLine } from '#test/support/processes.ts';
import { end, makeFolder, startServing } from '#test/support/product.ts';
import { listenOn } from '#test/support/servers/sockets.ts';

const PORTS = { PORT: '0', ACCOUNT_PORT: '0', ADMIN_PORT: '0' };

test.each([
  ['the account pages', 'account'],
  ['the proxy', 'proxy'],
])('SIGTERM ends %s with 0 when the reader of the log is gone', async (_, program) => {
  const { child } = await startServing(program, {
    DATABASE_URL: await makeAccounts(),
    SNAPSHOTS_DIR: makeFolder(),
    MAIL_FOLDER: makeFolder(),
    PROXY_THREADS: '3',
    LOG_LEVEL: 'debug',
    ...PORTS,
  });
  child.stderr?.destroy();
  // Its end is logged, too.
  expect(await end(child, 'SIGTERM')).toBe(0);
});

test.each([
  ['the schedule', 'schedule'],
  ['the proxy', 'proxy'],
])('a full disk for its log does not stop %s, and SIGTERM ends it with 0', async (_, program) => {
  // Accepts connections and never answers. A program that connects has begun its work.
  const server = createServer();
  const port = await listenOn(server);
  const full = openSync('/dev/full', 'w');
  const [node, ...words] = commandLine(program);
  const child = spawn(node, words, {
    cwd: makeFolder(),
    stdio: ['ignore', 'ignore', full],
    env: {
      PATH: process.env.PATH,
      ...COMPILE_CACHE,
      ...PORTS,
      DATABASE_URL: `mysql://me:secret@127.0.0.1:${port}/catalogue`,
      LIMITS_URL: `redis://127.0.0.1:${port}`,
      SNAPSHOTS_DIR: makeFolder(),
      LOG_LEVEL: 'debug',
    },
  });
  closeSync(full);
  await once(server, 'connection');
  expect(await end(child, 'SIGTERM')).toBe(0);
});
