/** The store of lists of changes: when it joins, what it keeps, and what it answers when it is busy. */
import { EventEmitter, once } from 'node:events';
import { describe, expect, test } from 'vitest';
import {
  type ChangePage,
  LONGEST_PAGE,
  makeChangeStore,
  type PageOrder,
  type PageReply,
} from '../../../proxy/changes/change-store.ts';
import type { JoinOrder, JoinReply } from '../../../proxy/changes/join-worker.ts';

const idOf = (sequence: number) => `${String(sequence).padStart(6, '0')}-0123456789ab`;
const FROM = idOf(1);
const TO = idOf(2);
const order = (first: number, count = 50, from = FROM): PageOrder => ({
  from,
  to: TO,
  first,
  count,
});

/** A store whose joins the test answers, with lists of the numbers from 0. */
function makeStore(total: number) {
  const orders: { order: JoinOrder; reply: (reply: JoinReply | Error) => void }[] = [];
  const ordered = new EventEmitter();
  const outcomes: string[] = [];
  const clock = { now: 1e9 };
  const store = makeChangeStore(
    '',
    { joined: ({ outcome }) => outcomes.push(outcome), failed: () => outcomes.push('failed') },
    () => clock.now,
    {
      join: (joined) =>
        new Promise((resolve, reject) => {
          const reply = (found: JoinReply | Error) =>
            found instanceof Error ? reject(found) : resolve(found);
          orders.push({ order: joined, reply });
          ordered.emit('order');
        }),
      close: () => {},
    },
  );
  const read = (wanted: PageOrder) =>
    new Promise<PageReply>((resolve) => store.read(wanted, resolve));
  /** Answers the join under way with the list. */
  async function answer(reply?: JoinReply | Error): Promise<void> {
    if (orders.length === 0) await once(ordered, 'order');
    const { order: joined, reply: send } = orders.shift() as (typeof orders)[number];
    const numbers: string[] = [];
    for (let at = joined.first; at < Math.min(joined.end, total); at++) numbers.push(`${at}`);
    const starts = [0];
    for (const number of numbers) starts.push((starts.at(-1) as number) + number.length + 2);
    const text = new Uint8Array(Buffer.from(numbers.map((number) => `${number},\n`).join('')));
    const part = { total, text, starts: Uint32Array.from(starts) };
    send(reply ?? { outcome: 'joined', part, differences: 1 });
  }
  return { read, answer, orders, outcomes, clock };
}

function numbersOf(reply: PageReply): number[] {
  const text = Buffer.from((reply as ChangePage).text).toString();
  const numbers = text === '' ? [] : text.split(',\n').map(Number);
  expect(numbers).toHaveLength((reply as ChangePage).count);
  return numbers;
}

describe('a list', () => {
  test('is joined once, and its pages are slices', async () => {
    const { read, answer, orders, outcomes } = makeStore(130);
    const pages = [read(order(0)), read(order(100)), read(order(50))];
    await answer();
    const [first, last, middle] = (await Promise.all(pages)).map(numbersOf);
    expect([...(first ?? []), ...(middle ?? []), ...(last ?? [])]).toEqual([...Array(130).keys()]);
    expect(numbersOf(await read(order(129, 100)))).toEqual([129]);
    expect(await read(order(130))).toMatchObject({ total: 130, count: 0 });
    expect(await read(order(1e15))).toMatchObject({ total: 130, count: 0 });
    expect([orders.length, outcomes]).toEqual([0, ['joined']]);
  });

  test('that is long is joined in parts, and every page lies in one part', async () => {
    const total = 220_000;
    const { read, answer, outcomes } = makeStore(total);
    for (const [first, joins] of [
      [0, 1],
      [99_900, 1],
      [99_999, 1],
      [100_000, 2],
      [199_999, 2],
      [200_000, 3],
      [219_990, 3],
      [0, 3],
    ] as const) {
      const page = read(order(first, LONGEST_PAGE));
      if (outcomes.length < joins) await answer();
      const numbers = numbersOf(await page);
      expect(numbers).toEqual(
        Array.from({ length: Math.min(LONGEST_PAGE, total - first) }, (_, i) => first + i),
      );
      expect(outcomes).toHaveLength(joins);
    }
  });

  test('without changes has a total of 0', async () => {
    const { read, answer } = makeStore(0);
    const page = read(order(0));
    await answer();
    expect(await page).toMatchObject({ total: 0, count: 0 });
  });

  test('between a generation and itself is empty, and needs no join', async () => {
    const { read, orders } = makeStore(5);
    expect(await read(order(0, 50, TO))).toMatchObject({ total: 0, count: 0 });
    expect(orders).toEqual([]);
  });

  test('that is gone or refused is not joined again for 30 seconds', async () => {
    for (const outcome of ['gone', 'refused'] as const) {
      const { read, answer, outcomes, clock } = makeStore(5);
      const first = read(order(0));
      await answer(outcome === 'gone' ? { outcome } : { outcome, message: 'damaged' });
      expect(await first).toBe('gone');
      clock.now += 29_999;
      expect(await read(order(0))).toBe('gone');
      clock.now += 2;
      const later = read(order(0));
      await answer();
      expect(numbersOf(await later)).toHaveLength(5);
      expect(outcomes).toEqual([outcome, 'joined']);
    }
  });
});

test('one join runs at a time, 16 may wait, and further requests are told that the store is busy', async () => {
  const { read, answer, orders } = makeStore(1);
  const first = Array.from({ length: 16 }, (_, i) => read(order(0, 50, idOf(10 + i))));
  expect(orders).toHaveLength(1);
  expect(await read(order(0, 50, idOf(99)))).toBe('busy');
  // A request for a list that is waited for already needs no join of its own.
  const same = read(order(0, 50, idOf(12)));
  for (let join = 0; join < 16; join++) {
    await answer();
    expect(orders.length).toBeLessThanOrEqual(1);
  }
  for (const reply of await Promise.all([...first, same])) expect(numbersOf(reply)).toEqual([0]);
  const again = read(order(0, 50, idOf(99)));
  await answer();
  expect(numbersOf(await again)).toEqual([0]);
});

test('at most 2,000 requests wait', async () => {
  const { read, answer } = makeStore(1);
  const waiting = Array.from({ length: 2_000 }, () => read(order(0)));
  expect(await read(order(0))).toBe('busy');
  await answer();
  expect((await Promise.all(waiting)).every((reply) => reply !== 'busy')).toBe(true);
  expect(numbersOf(await read(order(0)))).toEqual([0]);
});

test('if the joining thread fails, the requests are told to come back, and the next join works', async () => {
  const { read, answer, outcomes } = makeStore(1);
  const first = read(order(0));
  await answer(new Error('out of memory'));
  expect(await first).toBe('busy');
  const second = read(order(0));
  await answer();
  expect(numbersOf(await second)).toEqual([0]);
  expect(outcomes).toEqual(['failed', 'joined']);
});
