/** A signal that arrives before a program listens also ends it with exit code 0. */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, test } from 'vitest';
import { makeSampleSnapshots } from '../catalogue/snapshots.ts';
import { makeLog } from '../support/log.ts';
import { end, makeFolder, startProgram } from '../support/product.ts';

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
