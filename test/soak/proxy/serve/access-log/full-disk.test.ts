/** A disk that is really full costs lines of the access log, which are counted. After that, whole lines follow. */
import { closeSync, ftruncateSync, openSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { openLogFile } from '#proxy/serve/access-log/log-file.ts';
import { mountSmallDisk } from '#test/soak/support/small-disk.ts';
import { until } from '#test/soak/support/until.ts';
import { numberedLine, numbersIn } from '#test/support/log.ts';

test('a full disk drops lines and counts them; once there is room, the log goes on where it stopped', async ({
  skip,
}) => {
  const disk = await mountSmallDisk(64);
  if (disk === undefined) return skip('this machine does not let us mount a disk');
  const filler = path.join(disk.root, 'filler');
  const file = path.join(disk.root, 'access.log');
  writeFileSync(filler, 'x'.repeat(32 * 1024));
  let messages = '';
  const log = pino({}, { write: (text: string) => (messages += text) });
  const access = openLogFile(file, log);
  const write = (from: number, to: number) => {
    for (let number = from; number < to; number++) access.write(numberedLine(number));
  };
  // The disk becomes full in the middle of a line.
  write(0, 900);
  await until(() => messages.includes('cannot write the access log'));
  // More than may wait.
  write(900, 15_000);
  expect(messages).toContain('ENOSPC');
  expect(access.faults()).toEqual([
    expect.stringMatching(/^The access log \/.+ cannot be written: ENOSPC/),
  ]);
  expect(access.dropped()).toBeGreaterThan(100);
  const descriptor = openSync(filler, 'r+');
  ftruncateSync(descriptor, 0);
  closeSync(descriptor);
  // A small disk: what waits does not fit on it, either.
  await until(() => statSync(file).size > 32 * 1024);
  await access.close();
  expect(messages.match(/cannot write the access log/g)).not.toBeNull();
  const text = readFileSync(file, 'utf8');
  const numbers = numbersIn(text.slice(0, text.lastIndexOf('\n') + 1));
  expect(numbers).toEqual(numbers.map((_, index) => index));
  await disk.unmount();
});
