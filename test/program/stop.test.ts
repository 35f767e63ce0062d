/** A signal that arrives before a program listens also ends it with exit code 0. */
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { makeSampleSnapshots } from '../catalogue/snapshots.ts';
import { end, makeFolder, startProgram, until } from '../support/product.ts';
import { freePort } from '../support/servers/ports.ts';

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s ends a proxy with 0 whose serving threads are still starting',
  async (signal) => {
    const child = startProgram('proxy/main.ts', [], {
      SNAPSHOTS_DIR: await makeSampleSnapshots(),
      PROXY_THREADS: '4',
      PORT: '0',
      ADMIN_PORT: '0',
    });
    // At once: the threads listen some milliseconds later.
    const ended = new Promise((resolve) => {
      createInterface({ input: child.stderr as Readable }).on('line', (line) => {
        if (line.includes('serving a generation')) resolve(end(child, signal));
      });
    });
    expect(await ended).toBe(0);
  },
);

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s ends the account pages with 0 while they wait for their database',
  async (signal) => {
    let isConnected = false;
    const port = await freePort();
    // Accepts connections and never answers.
    const database = createServer(() => {
      isConnected = true;
    }).listen(port, '127.0.0.1');
    await until(() => database.listening);
    const child = startProgram('keys/account/main.ts', [], {
      DATABASE_URL: `mysql://me:secret@127.0.0.1:${port}/catalogue`,
      MAIL_FOLDER: makeFolder(),
      ACCOUNT_PORT: '0',
    });
    child.stderr?.resume();
    await until(() => isConnected);
    expect(await end(child, signal)).toBe(0);
    database.close();
  },
);
