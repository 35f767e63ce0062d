/**
 * More connections to the account pages than the process may have open files: unused connections are
 * closed to make room for others.
 */
import type { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { makeAccounts, makeVisitor, type RunningPages, startPages } from '../../support/account.ts';
import { makeDatabase } from '../../support/databases.ts';
import { withOpenFiles } from '../../support/processes.ts';
import { makeFolder, until } from '../../support/product.ts';
import { openSocket } from '../../support/servers/sockets.ts';

const FILES = 150;
const EACH = 150;
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

async function start(files: number): Promise<RunningPages> {
  const databaseUrl = await makeDatabase('sqlite');
  await makeAccounts(databaseUrl);
  return startPages(databaseUrl, { MAIL_FOLDER: makeFolder() }, withOpenFiles(files));
}

const linesOf = (pages: RunningPages, text: string) =>
  pages
    .log()
    .split('\n')
    .filter((line) => line.includes(text));

test(`with a limit of ${FILES} open files, unused connections keep nobody out`, async () => {
  const pages = await start(FILES);
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
  await until(() => linesOf(pages, 'too many connections').length === 1);
  const { limit } = JSON.parse(linesOf(pages, 'too many connections')[0]);
  expect(limit).toBeGreaterThanOrEqual(16);
  expect(limit).toBeLessThan(FILES - 50);
  // The clients of closed connections notice it.
  await until(() => sockets.filter((socket) => !socket.closed).length <= limit);
  for (const socket of sockets) socket.destroy();
  await until(() => linesOf(pages, 'connections are within the limit again').length === 1);
  expect(linesOf(pages, 'EMFILE')).toEqual([]);
  expect(await pages.stop()).toBe(0);
});

test('a limit on open files that is too low is logged once, and the pages are still served', async () => {
  const pages = await start(80);
  expect((await makeVisitor(pages.url).get('/account/sign-in')).status).toBe(200);
  expect(linesOf(pages, 'the limit on open files is too low')).toHaveLength(1);
  expect(await pages.stop()).toBe(0);
});
