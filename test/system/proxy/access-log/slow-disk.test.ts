/**
 * A disk that is full or slow costs lines of the access log, which are counted, but no request and
 * little memory. After that, the log continues with whole lines.
 */
import { readFileSync, renameSync, writeSync } from 'node:fs';
import path from 'node:path';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { openLogFile } from '../../../../proxy/access-log/log-file.ts';
import {
  MOST_WAITING,
  makeThreadLines,
  newDropCount,
} from '../../../../proxy/access-log/thread-lines.ts';
import { makeSampleSnapshots } from '../../../catalogue/snapshots.ts';
import { makeLog } from '../../../support/log.ts';
import { end, makeFolder, send, startProgram, testKey } from '../../../support/product.ts';

/** The numbers from `from` to `to`, exclusive. */
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);
const line = (number: number) => `{"number":${number},"text":"${'x'.repeat(100)}"}\n`;
const numbersIn = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((each) => JSON.parse(each).number);

test('a thread keeps a bounded text while its batch is not written, and counts what it drops', async () => {
  const dropped = newDropCount();
  const batches: string[] = [];
  let done = () => {};
  const lines = makeThreadLines((batch, onDone) => {
    batches.push(batch.text);
    expect(batch.text.split('\n').length - 1).toBe(batch.lines);
    done = onDone;
  }, dropped);
  const total = 50_000;
  for (let number = 0; number < total; number++) lines.add(line(number));
  expect(batches).toHaveLength(1);
  const finished = lines.finish();
  done();
  done();
  await finished;
  expect(batches).toHaveLength(2);
  expect(batches[1]?.length).toBeLessThanOrEqual(MOST_WAITING);
  const kept = numbersIn(batches.join(''));
  expect(kept).toEqual(kept.map((_, index) => index));
  expect(dropped[0]).toBe(total - kept.length);
  expect(dropped[0]).toBeGreaterThan(0);
});

test('when the proxy stops, it does not wait for ever for a disk', async () => {
  const lines = makeThreadLines(() => {}, newDropCount());
  lines.add(line(1));
  await expect(lines.finish()).resolves.toBeUndefined();
});

/** Opens a log on a disk with room for so many bytes. */
function openOnDisk(room: number) {
  const file = path.join(makeFolder(), 'access.log');
  const disk = { room };
  const messages = makeLog();
  const writer = openLogFile(
    file,
    () => 0,
    pino({}, messages),
    async (descriptor, bytes) => {
      if (disk.room === 0) throw Object.assign(new Error('ENOSPC: no space'), { code: 'ENOSPC' });
      const bytesWritten = writeSync(descriptor, bytes, 0, Math.min(bytes.length, disk.room));
      disk.room -= bytesWritten;
      return { bytesWritten };
    },
  );
  /** Writes the lines with the numbers from `from` to `to`, exclusive, as one batch. */
  const writeBatch = (from: number, to: number) =>
    new Promise<void>((resolve) => {
      const numbers = range(from, to);
      writer.handOn({ text: numbers.map(line).join(''), lines: numbers.length }, resolve);
    });
  return { file, disk, messages, writer, writeBatch };
}

test('a full disk drops lines and counts them; once there is room, whole lines follow', async () => {
  // It becomes full in the middle of line 14.
  const before = range(0, 14).map(line).join('').length;
  const { file, disk, messages, writer, writeBatch } = openOnDisk(before + 50);
  await writeBatch(0, 10);
  expect(writer.lines()).toEqual({ written: 10, dropped: 0 });
  await writeBatch(10, 30);
  await writeBatch(30, 40);
  expect(messages.text().match(/cannot write the access log/g)).toHaveLength(1);
  expect(messages.text()).toContain('ENOSPC');
  expect(writer.faults()).toEqual([
    expect.stringMatching(/^The access log \/.+ cannot be written: ENOSPC/),
  ]);
  disk.room = Number.POSITIVE_INFINITY;
  await writeBatch(40, 45);
  await writer.close();
  expect(messages.text()).toContain('can be written again');
  expect(writer.faults()).toEqual([]);
  // The rest of the torn line was written first.
  expect(numbersIn(readFileSync(file, 'utf8'))).toEqual([...range(0, 15), ...range(40, 45)]);
  expect(writer.lines()).toEqual({ written: 20, dropped: 25 });
});

test('the rest of a torn line is not written to another file', async () => {
  const { file, disk, writer, writeBatch } = openOnDisk(50);
  await writeBatch(0, 3);
  renameSync(file, `${file}.1`);
  writer.reopen();
  disk.room = Number.POSITIVE_INFINITY;
  await writeBatch(3, 5);
  await writer.close();
  expect(numbersIn(readFileSync(file, 'utf8'))).toEqual([3, 4]);
});

test('a reader of stdout that stands still costs lines, and no request waits', async () => {
  const key = testKey(1);
  const child = startProgram('proxy/main.ts', [], {
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
