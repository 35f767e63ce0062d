/** Several serving threads on one port share keys, limits, counts and maintenance, and stop together. */
import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { parseKeyUsage } from '#lib/format/key-usage-file.ts';
import { MAINTENANCE_FILE, PROXY_FOLDER } from '#lib/format/layout.ts';
import { makeSampleSnapshots } from '#test/catalogue/snapshots.ts';
import {
  NEVER,
  type Reply,
  startProxy,
  type TestKey,
  testKey,
  writeKeys,
} from '#test/support/product.ts';
import { openSocket, readToEnd } from '#test/support/servers/sockets.ts';

const THREADS = 3;
const GAME = '/games/snes/chrono-trigger';
/** So many new connections that every thread gets some of them. */
const MANY = 60;

const key = testKey(1);
let limited = testKey(2, { limit: 20 });
const rotated = [testKey(3), testKey(3)] as const;
/** How many requests were sent with the third key. */
let sent = 0;

const snapshotsDir = await makeSampleSnapshots([key, limited, rotated[0]]);
const proxy = await startProxy(snapshotsDir, { PROXY_THREADS: String(THREADS) }, NEVER);

/** Sends each request on a new connection. */
function sendRequests({ key }: TestKey, times: number, target = GAME): Promise<Reply[]> {
  const headers = { connection: 'close' };
  return Promise.all(Array.from({ length: times }, () => proxy.get(target, key, headers)));
}

const statusesOf = (replies: readonly Reply[]) => replies.map(({ status }) => status);
const times = <Value>(count: number, value: Value) => Array.from({ length: count }, () => value);

test('all threads listen, and the metrics count the responses of all by their routes', async () => {
  const port = proxy.port.toString(16).toUpperCase().padStart(4, '0');
  const listening = readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .filter((line) => line.includes(`:${port} 00000000:0000 0A`));
  expect(listening).toHaveLength(THREADS);
  expect(statusesOf(await sendRequests(key, MANY))).toEqual(times(MANY, 200));
  expect(statusesOf(await sendRequests(key, 2, '/nowhere'))).toEqual([404, 404]);
  const text = await proxy.metrics();
  expect(text).toContain(`api_requests_total{route="game",status="200"} ${MANY}\n`);
  expect(text).toContain(`api_request_duration_seconds_count{route="game"} ${MANY}\n`);
  expect(text).toContain('api_request_duration_seconds_count{route="none"} 2\n');
  expect(text).toMatch(/^snapshot_swaps_total 1$/m);
});

test('requests counted by any thread are kept when a limit is raised', async () => {
  const before = statusesOf(await sendRequests(limited, MANY));
  expect(before.filter((status) => status === 200)).toHaveLength(20);
  limited = { ...limited, limit: 50 };
  writeKeys(snapshotsDir, [key, limited, rotated[0]]);
  await proxy.refresh();
  const replies = await sendRequests(limited, MANY);
  expect(replies.map(({ headers }) => headers['x-ratelimit-limit'])).toEqual(times(MANY, '50'));
  expect(statusesOf(replies).filter((status) => status === 200)).toHaveLength(30);
});

test('a key that is rotated is valid on all threads at once, and the one before on none', async () => {
  expect(statusesOf(await sendRequests(rotated[0], MANY))).toEqual(times(MANY, 200));
  writeKeys(snapshotsDir, [key, limited, rotated[1]]);
  await proxy.refresh();
  expect(statusesOf(await sendRequests(rotated[1], MANY))).toEqual(times(MANY, 200));
  sent = 2 * MANY;
  expect(statusesOf(await sendRequests(rotated[0], 12))).toEqual(times(12, 401));
});

test('maintenance is on for all threads, and over for all', async () => {
  const file = path.join(snapshotsDir, MAINTENANCE_FILE);
  writeFileSync(file, '');
  await proxy.refresh();
  expect(statusesOf(await sendRequests(key, MANY))).toEqual(times(MANY, 503));
  rmSync(file);
  await proxy.refresh();
  expect(statusesOf(await sendRequests(key, MANY))).toEqual(times(MANY, 200));
});

test('the end loses no request under way and no count', async () => {
  const head = `GET /api/v1${GAME} HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${rotated[1].key}\r\n\r\n`;
  const underWay = await Promise.all(
    Array.from({ length: MANY }, async () => {
      const socket = await openSocket(proxy.port);
      const received = readToEnd(socket);
      const answered = once(socket, 'data');
      socket.write(head + head.slice(0, -4));
      await answered;
      return { socket, received };
    }),
  );
  const stopped = proxy.stop();
  for (const { socket } of underWay) socket.write('\r\n\r\n');
  for (const { received } of underWay) {
    expect((await received).match(/HTTP\/1\.1 200 OK\r\n/g)).toHaveLength(2);
  }
  await stopped;
  sent += 2 * MANY;

  const [name = ''] = readdirSync(path.join(snapshotsDir, PROXY_FOLDER)).filter((each) =>
    each.startsWith('key-usage-'),
  );
  const usage = readFileSync(path.join(snapshotsDir, PROXY_FOLDER, name), 'utf8');
  const counted = parseKeyUsage(usage, name).flatMap(({ keys }) => keys.get(3) ?? []);
  expect(counted.reduce((sum, { requests }) => sum + requests, 0)).toBe(sent);
});
