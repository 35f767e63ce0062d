/**
 * A restart of the proxy keeps what was counted against keys and addresses: over real restarts, and
 * over clocks that do what they like.
 */
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pino } from 'pino';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { makeKey } from '../format/api-key.ts';
import { encodeColumns } from '../format/columns.ts';
import { limitWindowsFile, PROXY_FOLDER } from '../format/layout.ts';
import { makeInstanceFiles } from '../proxy/instance-files.ts';
import { bootId, makeLimitHandover } from '../proxy/limit-handover.ts';
import { makeAddressLimits } from '../proxy/limits/address-limits.ts';
import {
  decodeWindows,
  encodeWindows,
  HASH_DIGITS,
  type Moment,
  type Windows,
} from '../proxy/limits/handover.ts';
import { makeRollingWindow } from '../proxy/limits/rolling-window.ts';
import { now } from '../proxy/serving.ts';
import { makeRandom } from './catalogue/random.ts';
import { makeSampleSnapshots } from './catalogue/snapshots.ts';
import { freePort } from './ports.ts';
import { end, type RunningProxy, send, startProxy, testKey, until, writeKeys } from './product.ts';

const MINUTE = 60_000;
const HASH = 'ab'.repeat(32);
const NAME = 'limit-windows-8080.bin';

describe('a restarted proxy', () => {
  let dir: string;
  let PORT: string;
  const file = () => path.join(dir, PROXY_FOLDER, limitWindowsFile(Number(PORT)));

  beforeAll(async () => {
    dir = await makeSampleSnapshots();
  });

  // What one test counts must not count in the next.
  beforeEach(async () => {
    PORT = String(await freePort());
  });

  const start = (environment: Readonly<Record<string, string>> = {}) =>
    startProxy(dir, { PORT, ...environment });

  const ask = async ({ url }: RunningProxy, key: string | undefined) => {
    const headers = { connection: 'close', ...(key === undefined ? {} : { 'x-api-key': key }) };
    const reply = await send(`${url}/api/v1/stats`, { headers });
    const number = (name: string) => Number(reply.headers[`x-ratelimit-${name}`]);
    return { status: reply.status, remaining: number('remaining'), reset: number('reset') };
  };

  const askOften = async (proxy: RunningProxy, key: string | undefined, times: number) => {
    const statuses: number[] = [];
    for (let i = 0; i < times; i++) statuses.push((await ask(proxy, key)).status);
    return statuses;
  };

  test.each([1, 3])(
    'with %i serving threads goes on with the limits of keys and of addresses',
    async (threads) => {
      const environment = { PROXY_THREADS: String(threads), ADDRESS_RATE_LIMIT: '6' };
      const used = testKey(1, { limit: 10 });
      const unused = testKey(2, { limit: 10 });
      writeKeys(dir, [used, unused]);
      const first = await start(environment);
      await until(async () => (await ask(first, used.key)).status === 200);
      const before = await ask(first, used.key);
      const at = performance.now();
      expect(before.remaining).toBe(8);
      expect(await askOften(first, used.key, 3)).toEqual([200, 200, 200]);
      expect(await askOften(first, undefined, 4)).toEqual([401, 401, 401, 401]);
      expect(await first.stop()).toBe(0);

      expect(statSync(file()).mode & 0o777).toBe(0o600);
      const bytes = readFileSync(file());
      for (const secret of [used.key, '127.0.0.1']) expect(bytes.includes(secret)).toBe(false);

      const second = await start(environment);
      expect(existsSync(file())).toBe(false);
      const after = await ask(second, used.key);
      expect([after.status, after.remaining]).toEqual([200, 4]);
      expect(await askOften(second, used.key, 6)).toEqual([200, 200, 200, 200, 429, 429]);
      // It is back when the first process said, not a minute after the start of the second.
      const elapsed = (performance.now() - at) / 1000;
      const refused = await send(`${second.url}/api/v1/stats`, {
        headers: { 'x-api-key': used.key },
      });
      const retry = Number(refused.headers['retry-after']);
      expect(retry).toBeLessThanOrEqual(Math.ceil(60 - elapsed) + 1);
      expect(retry).toBeGreaterThanOrEqual(60 - Math.ceil(elapsed) - 5);
      expect(await askOften(second, undefined, 4)).toEqual([401, 401, 429, 429]);
      expect((await ask(second, unused.key)).status).toBe(429);
      expect(await second.stop()).toBe(0);
    },
  );

  test('gives a key its whole limit again after a crash, a rotation, or damage to the file', async () => {
    const key = testKey(1, { limit: 5 });
    writeKeys(dir, [key]);
    const killed = await start();
    await until(async () => (await ask(killed, key.key)).status === 200);
    await askOften(killed, key.key, 4);
    await end(killed.child, 'SIGKILL');
    const restarted = await start();
    expect(await askOften(restarted, key.key, 6)).toEqual([200, 200, 200, 200, 200, 429]);
    await restarted.stop();

    // The same row of the database with another key.
    const rotated = testKey(1, { limit: 5 });
    const kept = readFileSync(file());
    writeKeys(dir, [rotated]);
    const afterRotation = await start();
    expect(await askOften(afterRotation, rotated.key, 6)).toEqual([200, 200, 200, 200, 200, 429]);
    await afterRotation.stop();

    // The file of the second process is handed over as it is, and then with damage.
    const lines: string[] = [];
    const log = pino({ level: 'info' }, { write: (line) => lines.push(line) });
    const clock = () => ({ now: now(), wall: Date.now(), boot: bootId() });
    const handover = makeLimitHandover(makeInstanceFiles(dir), Number(PORT), clock, log);
    writeFileSync(file(), kept);
    expect((await handover.read())?.keys[0]?.times).toHaveLength(5);
    for (const damage of [kept.subarray(0, 100), Buffer.alloc(0), Buffer.alloc(65 * 2 ** 20)]) {
      writeFileSync(file(), damage);
      lines.length = 0;
      expect(await handover.read()).toBe(undefined);
      expect(lines.join()).toContain('the limits start from zero');
    }
    await handover.clear();
    expect(existsSync(file())).toBe(false);
    lines.length = 0;
    expect([await handover.read(), lines]).toEqual([undefined, []]);
  });

  test('counts what was counted before also where the limit was lowered meanwhile', async () => {
    const key = testKey(1, { limit: 10 });
    writeKeys(dir, [key]);
    const first = await start();
    await until(async () => (await ask(first, key.key)).status === 200);
    await askOften(first, key.key, 7);
    await first.stop();
    writeKeys(dir, [{ ...key, limit: 3 }]);
    const second = await start();
    expect(await ask(second, key.key)).toMatchObject({ status: 429, remaining: 0 });
    writeKeys(dir, [{ ...key, limit: 9 }]);
    await until(async () => (await ask(second, key.key)).status === 200);
    expect((await ask(second, key.key)).status).toBe(429);
    await second.stop();
  });

  test('two proxies of one folder hand over each for itself, and one on any port does not', async () => {
    const key = testKey(1, { limit: 5 });
    writeKeys(dir, [key]);
    const other = String(await freePort());
    const startBoth = () => Promise.all([start(), startProxy(dir, { PORT: other })]);
    const proxies = await startBoth();
    for (const [place, proxy] of proxies.entries()) {
      await until(async () => (await ask(proxy, key.key)).status === 200);
      await askOften(proxy, key.key, place);
    }
    await Promise.all(proxies.map((proxy) => proxy.stop()));
    const onAnyPort = await startProxy(dir);
    expect((await ask(onAnyPort, key.key)).remaining).toBe(4);
    await onAnyPort.stop();
    expect(existsSync(path.join(dir, PROXY_FOLDER, limitWindowsFile(0)))).toBe(false);
    const again = await startBoth();
    const left = await Promise.all(again.map((proxy) => ask(proxy, key.key)));
    expect(left.map(({ remaining }) => remaining)).toEqual([3, 2]);
    await Promise.all(again.map((proxy) => proxy.stop()));
  });
});

describe('windows that are handed over', () => {
  const windowsOf = (times: readonly number[]): Windows => ({
    keys: [{ id: 7, hash: HASH, times }],
    addresses: { seed: [1, 2], sets: 8, windows: [{ set: 3, tag: 2 ** 51 + 1, times }] },
  });

  /** What is left of them in a process that reads them at another moment. */
  function handOver(times: readonly number[], written: Moment, read: Moment) {
    const bytes = new Uint8Array(encodeWindows(windowsOf(times), written));
    return decodeWindows(bytes, NAME, read);
  }

  test('are the same in another process, but for a key’s hash and fractions of a millisecond', () => {
    const times = [1_000, 1_000.25, 30_000, 61_500.5];
    const moment = { now: 61_700, wall: 5e12, boot: 'a' };
    // 60.7 and 60.69975 seconds old: they count no more.
    expect(handOver(times, moment, moment)).toEqual({
      keys: [{ id: 7, hash: HASH.slice(0, HASH_DIGITS), times: [30_000, 61_501] }],
      addresses: {
        seed: [1, 2],
        sets: 8,
        windows: [{ set: 3, tag: 2 ** 51 + 1, times: [30_000, 61_501] }],
      },
    });
  });

  const written = { now: 500_000, wall: 1e12, boot: 'this start of the system' };
  const later = (changes: Partial<Moment>): Moment => ({ ...written, ...changes });
  const passed = (windows: Windows | undefined, now: number) =>
    windows?.keys[0]?.times.map((time) => now - time);

  test('age by the clock of the system where it was not started again, whatever the wall clock does', () => {
    for (const wall of [0, 1e12 - 3_600_000, 1e12 + 3_600_000]) {
      const read = later({ now: 520_000, wall });
      expect(passed(handOver([490_000], written, read), read.now)).toEqual([30_000]);
      expect(handOver([490_000], written, later({ now: 560_000, wall }))).toBe(undefined);
    }
  });

  test('age by the wall clock after the system was started again, and are never older than new', () => {
    const restarted = (wall: number) => later({ now: 12_000, wall, boot: 'another' });
    const at = (wall: number) => passed(handOver([490_000], written, restarted(wall)), 12_000);
    expect(at(1e12 + 20_000)).toEqual([30_000]);
    // Set back: no time has passed, so it counts for a minute at most.
    expect(at(1e12 - 3_600_000)).toEqual([10_000]);
    expect(at(1e12 + 60_000)).toBe(undefined);
    // No system says which start it is of: that is not the same one.
    const unknown = { ...written, boot: '' };
    const read = { now: 12_000, wall: 1e12 + 20_000, boot: '' };
    expect(passed(handOver([490_000], unknown, read), 12_000)).toEqual([30_000]);
  });

  test('never let in more than the limit, nor lock anybody out for more than a minute', () => {
    for (let seed = 0; seed < 500; seed++) {
      const random = makeRandom(seed);
      const limit = 1 + random.below(20);
      const window = makeRollingWindow(limit);
      const admitted: number[] = [];
      let now = random.next() * 1e9;
      const use = (counting: typeof window, steps: number) => {
        for (let i = 0; i < steps; i++, now += random.next() * random.pick([0, 100, 8_000])) {
          if (counting.admit(limit, now)?.admitted) admitted.push(now);
        }
      };
      use(window, 40);
      const saved: Windows = {
        keys: [{ id: 1, hash: HASH, times: window.times(now) }],
        addresses: { seed: [0, 0], sets: 2, windows: [] },
      };
      const bytes = new Uint8Array(encodeWindows(saved, { now, wall: now, boot: 'a' }));
      now += random.next() * random.pick([10, 5_000, 70_000]);
      const wall = random.next() * 1e12;
      const [key] = decodeWindows(bytes, NAME, { now, wall, boot: 'a' })?.keys ?? [];
      const restored = makeRollingWindow(limit, key?.times);
      const wait = restored.peek(limit, now)?.resetSeconds ?? Number.NaN;
      expect(wait).toBeLessThanOrEqual(60);
      use(restored, 40);
      const tooClose = admitted.filter((time, i) => time - admitted[i - limit] < MINUTE - 1e-6);
      expect(tooClose).toEqual([]);
    }
  });

  test('are refused where the file is not one, whatever is wrong with it', () => {
    const moment = { now: 500_000, wall: 1e12, boot: 'a' };
    const good = encodeWindows(windowsOf([490_000, 495_000]), moment);
    const read = (bytes: Uint8Array) => decodeWindows(new Uint8Array(bytes), NAME, moment);
    expect(read(good)?.keys[0]?.times).toEqual([490_000, 495_000]);
    for (let length = 0; length < good.length; length += 7) {
      expect(() => read(good.subarray(0, length)), `${length} bytes`).toThrow(NAME);
    }
    const columns = {
      version: Uint32Array.of(1),
      moment: Float64Array.of(500_000, 1e12),
      boot: Buffer.from('a'),
      keyId: Float64Array.of(7),
      keyHash: Buffer.from(HASH.slice(0, HASH_DIGITS)),
      keyStart: Uint32Array.of(0, 2),
      keyAge: Uint16Array.of(10, 5),
      table: Uint32Array.of(1, 2, 8),
      addressSet: Uint32Array.of(3),
      addressTag: Float64Array.of(5),
      addressStart: Uint32Array.of(0, 1),
      addressAge: Uint16Array.of(7),
    };
    const made = (changes: object) => Buffer.concat([...encodeColumns({ ...columns, ...changes })]);
    expect(read(made({}))?.addresses.windows).toEqual([{ set: 3, tag: 5, times: [499_993] }]);
    for (const changes of [
      { version: Uint32Array.of(2) },
      { moment: Float64Array.of() },
      { moment: Float64Array.of(Number.NaN, Number.NaN) },
      { keyHash: Buffer.from('ab') },
      { keyStart: Uint32Array.of(0, 3) },
      { keyStart: Uint32Array.of(1, 2) },
      { keyStart: Uint32Array.of(0) },
      { keyAge: Uint16Array.of(5, 10) },
      { keyAge: Float64Array.of(10, 5) },
      { addressSet: Uint32Array.of(8) },
      { addressSet: Uint32Array.of() },
      { addressStart: Uint32Array.of(0, 2) },
      { table: Uint32Array.of(1, 2) },
    ]) {
      expect(() => read(made(changes)), Object.keys(changes)[0]).toThrow(NAME);
    }
  });
});

describe('addresses', () => {
  test('keep their windows in a table of the same size, also with a lower limit', () => {
    const before = makeAddressLimits(5);
    const now = 1e6;
    for (let i = 0; i < 4; i++) before.admit('192.0.2.1', now + i);
    before.admit('192.0.2.2', now - MINUTE);
    const saved = before.save(now + 10);
    expect(saved.windows).toHaveLength(1);
    const same = makeAddressLimits(5);
    same.restore(saved);
    expect(same.peek('192.0.2.1', now + 10)).toEqual(before.peek('192.0.2.1', now + 10));
    expect(same.peek('192.0.2.2', now + 10).remaining).toBe(5);
    const lower = makeAddressLimits(2);
    lower.restore(saved);
    expect(lower.peek('192.0.2.1', now + 10)).toMatchObject({ admitted: false, remaining: 0 });
    // The second newest of the four frees it.
    expect(lower.peek('192.0.2.1', now + 1.9 + MINUTE).admitted).toBe(false);
    expect(lower.peek('192.0.2.1', now + 2 + MINUTE).admitted).toBe(true);
    // Another size: an address would be looked for elsewhere.
    const other = makeAddressLimits(100_000);
    other.restore(saved);
    expect(other.save(now + 10).windows).toEqual([]);
    expect(other.peek('192.0.2.1', now + 10).remaining).toBe(100_000);
  });
});

test('a key that is unknown at first finds its window when keys come later', async () => {
  const dir = await makeSampleSnapshots();
  const PORT = String(await freePort());
  const key = testKey(1, { limit: 5 });
  writeKeys(dir, [key]);
  const ask = async ({ url }: RunningProxy, sent: string) =>
    (await send(`${url}/api/v1/stats`, { headers: { 'x-api-key': sent } })).headers[
      'x-ratelimit-remaining'
    ];
  const first = await startProxy(dir, { PORT });
  await until(async () => (await ask(first, key.key)) === '3');
  await first.stop();
  writeFileSync(path.join(dir, 'keys.json'), 'damaged');
  const second = await startProxy(dir, { PORT });
  await until(() => second.log().includes('keys.json is damaged'));
  expect(
    (await send(`${second.url}/api/v1/stats`, { headers: { 'x-api-key': makeKey() } })).status,
  ).toBe(503);
  writeKeys(dir, [key]);
  await until(async () => (await send(`${second.adminUrl}/readyz`)).status === 200);
  expect(await ask(second, key.key)).toBe('2');
  await second.stop();
});

test('a run that never reads the keys hands on what it was handed', async () => {
  const dir = await makeSampleSnapshots();
  const PORT = String(await freePort());
  const key = testKey(1, { limit: 5 });
  writeKeys(dir, [key]);
  const ask = ({ url }: RunningProxy) =>
    send(`${url}/api/v1/stats`, { headers: { 'x-api-key': key.key } });
  const first = await startProxy(dir, { PORT });
  for (let i = 0; i < 5; i++) expect((await ask(first)).status).toBe(200);
  await first.stop();
  rmSync(path.join(dir, 'keys.json'));
  const second = await startProxy(dir, { PORT });
  expect((await ask(second)).status).toBe(503);
  await second.stop();
  writeKeys(dir, [key]);
  const third = await startProxy(dir, { PORT });
  expect((await ask(third)).status).toBe(429);
  await third.stop();
});
