/**
 * More connections to the account pages than the process may have open files: unused connections are
 * closed to make room for others.
 */
import type { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { makeAccounts, makeVisitor, startPages } from '../../support/account.ts';
import { makeDatabase } from '../../support/databases.ts';
import { withOpenFiles } from '../../support/processes.ts';
import { makeFolder } from '../../support/product.ts';
import { openSocket } from '../../support/servers/sockets.ts';

const FILES = 150;
const EACH = 110;
const PAGE = 'GET /account/sign-in HTTP/1.1\r\nHost: x\r\n\r\n';

const ATTACKS: readonly (readonly [string, string])[] = [
  ['send nothing', ''],
  ['stay after a response', PAGE],
  ['send half a head', PAGE.slice(0, 30)],
  [
    'send half a form',
    'POST /account/sign-in HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\nemail=',
  ],
];

/** Resolves when at most so many sockets are open. */
function allClosedBut(count: number, sockets: readonly Socket[]): Promise<void> {
  return new Promise((resolve) => {
    const check = () => {
      if (sockets.filter(({ closed }) => !closed).length <= count) resolve();
    };
    for (const socket of sockets) socket.once('close', check);
    check();
  });
}

test(`with a limit of ${FILES} open files, unused connections keep nobody out`, async () => {
  const databaseUrl = await makeDatabase('sqlite');
  await makeAccounts(databaseUrl);
  const environment = { MAIL_FOLDER: makeFolder() };
  const pages = await startPages(databaseUrl, environment, withOpenFiles(FILES));
  const port = Number(new URL(pages.url).port);
  const sockets: Socket[] = [];
  for (const [attack, text] of ATTACKS) {
    for (let i = 0; i < EACH; i++) {
      const socket = await openSocket(port);
      socket.on('error', () => {}).resume();
      if (text !== '') socket.write(text);
      sockets.push(socket);
    }
    const reply = await makeVisitor(pages.url).get('/account/sign-in');
    expect([attack, reply.status]).toEqual([attack, 200]);
  }
  const { limit } = JSON.parse(await pages.logged('too many connections'));
  expect(limit).toBe(FILES / 2);
  // The clients of closed connections notice it.
  await allClosedBut(limit, sockets);
  for (const socket of sockets) socket.destroy();
  expect(pages.log()).not.toContain('EMFILE');
  expect(await pages.stop()).toBe(0);
});
