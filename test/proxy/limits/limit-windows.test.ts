/**
 * The windows that one process hands over to the next: what remains of them when clocks jump, and the
 * refusal of damaged files.
 */
import { describe, expect, test } from 'vitest';
import { encodeColumns } from '../../../format/index/columns.ts';
import { makeAddressLimits } from '../../../proxy/limits/address-limits.ts';
import {
  decodeWindows,
  encodeWindows,
  HASH_DIGITS,
  type Moment,
  type Windows,
} from '../../../proxy/limits/handover.ts';
import { makeRollingWindow } from '../../../proxy/limits/rolling-window.ts';
import { makeRandom } from '../../catalogue/random.ts';

const MINUTE = 60_000;
const HASH = 'ab'.repeat(32);
const NAME = 'limit-windows-8080.bin';

describe('windows that are handed over', () => {
  const windowsOf = (times: readonly number[]): Windows => ({
    keys: [{ id: 7, hash: HASH, times }],
    addresses: { seed: [1, 2], sets: 8, windows: [{ set: 3, tag: 2 ** 51 + 1, times }] },
  });

  /** Writes the windows at one moment and reads them at another. */
  function handOver(times: readonly number[], written: Moment, read: Moment) {
    const bytes = new Uint8Array(encodeWindows(windowsOf(times), written));
    return decodeWindows(bytes, NAME, read);
  }

  test('are the same in another process, with a shortened hash and in whole milliseconds', () => {
    const times = [1_000, 1_000.25, 30_000, 61_500.5];
    const moment = { now: 61_700, wall: 5e12, boot: 'a' };
    // The first two are 60.7 and 60.69975 seconds old, so they no longer count.
    expect(handOver(times, moment, moment)).toEqual({
      keys: [{ id: 7, hash: HASH.slice(0, HASH_DIGITS), times: [30_000, 61_501] }],
      addresses: {
        seed: [1, 2],
        sets: 8,
        windows: [{ set: 3, tag: 2 ** 51 + 1, times: [30_000, 61_501] }],
      },
    });
  });

  test('keep the place in the fleet, which files of older versions do not have', () => {
    const moment = { now: 61_700, wall: 5e12, boot: 'a' };
    for (const fleet of [{ proxy: 'p1', epoch: 'e2' }, undefined]) {
      const bytes = new Uint8Array(encodeWindows({ ...windowsOf([61_000]), fleet }, moment));
      expect(decodeWindows(bytes, NAME, moment)?.fleet).toEqual(fleet);
    }
  });

  const written = { now: 500_000, wall: 1e12, boot: 'this start of the system' };
  const later = (changes: Partial<Moment>): Moment => ({ ...written, ...changes });
  const passed = (windows: Windows | undefined, now: number) =>
    windows?.keys[0]?.times.map((time) => now - time);

  test('age by the monotonic clock if the system was not restarted, even if the wall clock changes', () => {
    for (const wall of [0, 1e12 - 3_600_000, 1e12 + 3_600_000]) {
      const read = later({ now: 520_000, wall });
      expect(passed(handOver([490_000], written, read), read.now)).toEqual([30_000]);
      expect(handOver([490_000], written, later({ now: 560_000, wall }))).toBe(undefined);
    }
  });

  test('age by the wall clock after a restart of the system, and never become younger', () => {
    const restarted = (wall: number) => later({ now: 12_000, wall, boot: 'another' });
    const at = (wall: number) => passed(handOver([490_000], written, restarted(wall)), 12_000);
    expect(at(1e12 + 20_000)).toEqual([30_000]);
    // The clock was set back, so no time has passed.
    expect(at(1e12 - 3_600_000)).toEqual([10_000]);
    expect(at(1e12 + 60_000)).toBe(undefined);
    // Without a boot id the system may have been restarted.
    const unknown = { ...written, boot: '' };
    const read = { now: 12_000, wall: 1e12 + 20_000, boot: '' };
    expect(passed(handOver([490_000], unknown, read), 12_000)).toEqual([30_000]);
  });

  test('never admit more than the limit, and never block a key for more than a minute', () => {
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

  test('are refused if the file is damaged in any way', () => {
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

describe('the windows of addresses', () => {
  test('are restored into a table of the same size, also with a lower limit', () => {
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
    // The address is admitted again when the second newest of its four requests leaves the window.
    expect(lower.peek('192.0.2.1', now + 1.9 + MINUTE).admitted).toBe(false);
    expect(lower.peek('192.0.2.1', now + 2 + MINUTE).admitted).toBe(true);
    // In a table of another size the addresses would be in other sets.
    const other = makeAddressLimits(100_000);
    other.restore(saved);
    expect(other.save(now + 10).windows).toEqual([]);
    expect(other.peek('192.0.2.1', now + 10).remaining).toBe(100_000);
  });
});
