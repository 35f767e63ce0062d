/**
 * A disk that is full or slow costs lines of the access log, which are counted, but no request and
 * little memory. After that, the log continues with whole lines.
 */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, ftruncateSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pino } from 'pino';
import { Pool } from 'undici';
import { expect, test } from 'vitest';
import { openLogFile } from '../../../proxy/access-log/log-file.ts';
import {
  MOST_WAITING,
  makeThreadLines,
  newDropCount,
} from '../../../proxy/access-log/thread-lines.ts';
import { makeSampleSnapshots } from '../../catalogue/snapshots.ts';
import { mountSmallDisk } from '../../soak/support/small-disk.ts';
import { end, startProgram, testKey, until } from '../../support/product.ts';

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
  const started = performance.now();
  await lines.finish();
  expect(performance.now() - started).toBeLessThan(3_000);
});

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

test('a reader of stdout that stands still costs lines, and no request waits', async () => {
  const key = testKey(1);
  const snapshots = await makeSampleSnapshots([key]);
  const child = startProgram('proxy/main.ts', [], {
    SNAPSHOTS_DIR: snapshots,
    PORT: '0',
    ADMIN_PORT: '0',
    ACCESS_LOG: 'all',
  });
  // Nobody reads stdout: the pipe is full after 64 KiB.
  let stderr = '';
  child.stderr?.setEncoding('utf8').on('data', (text) => {
    stderr += text;
  });
  await until(() => stderr.includes('"listening"'));
  const { api, admin } = JSON.parse(
    stderr.split('\n').find((text) => text.includes('"listening"')) ?? '',
  );
  const pool = new Pool(`http://${api}`, { connections: 8, pipelining: 8 });
  const target = `/api/v1/search?q=${'zelda+'.repeat(15)}`;
  const request = async () => {
    const reply = await pool.request({
      method: 'GET',
      path: target,
      headers: { 'x-api-key': key.key },
    });
    await reply.body.dump();
    return reply.statusCode;
  };
  const statuses = new Set<number>();
  for (let round = 0; round < 60; round++) {
    for (const status of await Promise.all(Array.from({ length: 100 }, request)))
      statuses.add(status);
  }
  expect([...statuses]).toEqual([200]);
  const metrics = execFileSync('curl', ['-s', `http://${admin}/metrics`], { encoding: 'utf8' });
  expect(Number(/^access_log_dropped_total (\d+)$/m.exec(metrics)?.[1])).toBeGreaterThan(0);
  const exited = once(child, 'exit');
  await end(child, 'SIGTERM');
  expect((await exited)[0]).toBe(0);
  await pool.close();
});
