/** The database stops while the account pages run: they log it once, wait, and then send the e-mails. */
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  linksTo,
  makeAccounts,
  makeVisitor,
  PEOPLE,
  startPages,
} from '../../../support/account.ts';
import { makeFolder } from '../../../support/product.ts';
import { type MariaDb, startMariaDb } from '../../../support/servers/mariadb.ts';
import { until } from '../../support/until.ts';

const GONE_MS = 4_000;
let server: MariaDb;
beforeAll(async () => {
  server = await startMariaDb();
});
afterAll(async () => {
  await server.stop();
});

test('an outage of the database is logged once at its start and end, and every link arrives', async () => {
  const databaseUrl = await server.createDatabase('accounts');
  await makeAccounts(databaseUrl);
  const mailFolder = makeFolder();
  const pages = await startPages(databaseUrl, { MAIL_FOLDER: mailFolder });
  const visitor = makeVisitor(pages.url);
  await visitor.get('/account/sign-in');
  for (const round of [1, 2]) {
    await server.kill();
    // This link is requested during the outage.
    const reply = await visitor.post('/account/sign-in', { email: PEOPLE.owner.email });
    expect(reply.status).toBe(200);
    await pause(GONE_MS);
    await server.restart();
    await until(() => linksTo(PEOPLE.owner.email, mailFolder).length === round);
    const isBack = ({ msg }: { msg: string }) => msg.startsWith('the database is back');
    await until(() => logged(pages.log()).filter(isBack).length === round);
  }
  expect(await pages.stop()).toBe(0);
  const lines = logged(pages.log()).map(({ level, msg }) => [level, msg]);
  const gone = [50, expect.stringMatching(/^E-mails wait until the database is back: /)];
  const back = [30, 'the database is back; e-mails are sent again'];
  const sent = [30, 'mails are sent'];
  const isSent = ([, msg]: unknown[]) => msg === 'mails are sent';
  expect(lines.filter(isSent)).toEqual([sent, sent]);
  expect(lines.filter((line) => !isSent(line))).toEqual([
    [30, 'listening'],
    ...[gone, back, gone, back],
    [30, 'stopping'],
    [30, 'stopped'],
  ]);
  expect(pages.log()).not.toMatch(/ {4}at |"stack"|"err"/);
}, 60_000);

function logged(log: string): { level: number; msg: string }[] {
  return log
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}
