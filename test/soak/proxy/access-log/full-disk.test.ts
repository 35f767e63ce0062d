/** A disk that is really full costs lines of the access log, which are counted. After that, whole lines follow. */
import { closeSync, ftruncateSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { openLogFile } from '../../../../proxy/access-log/log-file.ts';
import { mountSmallDisk } from '../../support/small-disk.ts';

const line = (number: number) => `{"number":${number},"text":"${'x'.repeat(100)}"}\n`;
const numbersIn = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((each) => JSON.parse(each).number);

test('a full disk drops lines and counts them; once there is room, whole lines follow', async ({
  skip,
}) => {
  const disk = await mountSmallDisk(64);
  if (disk === undefined) return skip('this machine does not let us mount a disk');
  const filler = path.join(disk.root, 'filler');
  const file = path.join(disk.root, 'access.log');
  writeFileSync(filler, 'x'.repeat(32 * 1024));
  let messages = '';
  const log = pino({}, { write: (text: string) => (messages += text) });
  const writer = openLogFile(file, () => 0, log);
  const writeBatch = (from: number, to: number) =>
    new Promise<void>((resolve) => {
      const numbers = Array.from({ length: to - from }, (_, index) => from + index);
      writer.handOn({ text: numbers.map(line).join(''), lines: numbers.length }, resolve);
    });
  await writeBatch(0, 100);
  expect(writer.lines()).toEqual({ written: 100, dropped: 0 });
  // The disk becomes full in the middle of a line.
  await writeBatch(100, 900);
  await writeBatch(900, 1_000);
  expect(messages.match(/cannot write the access log/g)).toHaveLength(1);
  expect(messages).toContain('ENOSPC');
  expect(writer.faults()).toEqual([
    expect.stringMatching(/^The access log \/.+ cannot be written: ENOSPC/),
  ]);
  const descriptor = openSync(filler, 'r+');
  ftruncateSync(descriptor, 0);
  closeSync(descriptor);
  await writeBatch(1_000, 1_050);
  await writer.close();
  expect(messages).toContain('can be written again');
  expect(writer.faults()).toEqual([]);
  const numbers = numbersIn(readFileSync(file, 'utf8'));
  const { written, dropped } = writer.lines();
  expect([numbers.length, written + dropped]).toEqual([written, 1_050]);
  expect(dropped).toBeGreaterThan(100);
  expect(numbers.slice(-50)).toEqual(Array.from({ length: 50 }, (_, index) => 1_000 + index));
  expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
  await disk.unmount();
});
