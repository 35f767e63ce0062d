/**
 * A disk that is full or slow costs lines of the access log, which are counted, but no request and
 * little memory. After that, the log continues with whole lines.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { openLogFile } from '#proxy/serve/access-log/log-file.ts';
import { makeSampleSnapshots } from '#test/catalogue/snapshots.ts';
import { makeLog, numberedLine, numbersIn } from '#test/support/log.ts';
import { end, makeFolder, send, startProgram, testKey } from '#test/support/product.ts';

/** The numbers from `from` to `to`, exclusive. */
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

test('lines that would wait in more than a megabyte are dropped and counted', async () => {
  const file = path.join(makeFolder(), 'access.log');
  const messages = makeLog();
  const log = openLogFile(file, pino({}, messages));
  // Nothing is written within one turn of the event loop.
  for (let number = 0; number < 20_000; number++) log.write(numberedLine(number));
  await log.close();
  expect(log.dropped()).toBeGreaterThan(0);
  expect(numbersIn(readFileSync(file, 'utf8'))).toEqual(range(0, 20_000 - log.dropped()));
  expect(messages.text().match(/cannot be written fast enough/g)).toHaveLength(1);
});

test('a reader of stdout that stands still costs lines, and no request waits', async () => {
  const key = testKey(1);
  const child = startProgram('proxy', [], {
    SNAPSHOTS_DIR: await makeSampleSnapshots([key]),
    PORT: '0',
    ADMIN_PORT: '0',
    ACCESS_LOG: 'all',
  });
  // Nobody reads stdout: it takes what the system keeps for it.
  const log = makeLog();
  child.stderr?.setEncoding('utf8').on('data', log.write);
  const { api, admin } = JSON.parse(await log.logged('"msg":"listening"'));
  // A line of about two kilobytes, so that few requests are too many.
  const url = `http://${api}/api/v1/${'a-'.repeat(1_000)}?q=${'b-'.repeat(1_000)}`;
  for (let round = 0; round < 10; round++) {
    const requests = range(0, 100).map(() => send(url, { headers: { 'x-api-key': key.key } }));
    const statuses = (await Promise.all(requests)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([404]));
  }
  const { text } = await send(`http://${admin}/metrics`);
  expect(Number(/^access_log_dropped_total (\d+)$/m.exec(text)?.[1])).toBeGreaterThan(0);
  expect(await end(child, 'SIGTERM')).toBe(0);
});
