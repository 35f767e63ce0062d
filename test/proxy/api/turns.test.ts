/** How requests that take long share a thread: by steps, by keys, with clients that leave. */
import { setImmediate as nextRound } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { makeTurns, TURN_MS } from '#proxy/api/turns.ts';

/** Turns of works that note each step, such as "a1", and take so many milliseconds for each. */
function start(milliseconds = TURN_MS) {
  let time = 0;
  const takeTurns = makeTurns<string>(() => time);
  const steps: string[] = [];
  const take = (name: string, count: number, key: unknown = name, isLeft = false) => {
    const socket = { destroyed: isLeft, remoteAddress: '', readableEnded: false };
    function* work() {
      for (let at = 1; at <= count; at++) {
        steps.push(`${name}${at}`);
        time += milliseconds;
        if (at < count) yield;
      }
      return name;
    }
    return { socket, result: takeTurns({ key: key as number, socket }, count, work()) };
  };
  return { take, steps };
}

test('a single step is done at once, unless the turn is over', async () => {
  const { take, steps } = start();
  expect(take('a', 1).result).toBe('a');
  const { result } = take('b', 1);
  expect(steps).toEqual(['a1']);
  expect(await result).toBe('b');
  await nextRound();
  expect(take('c', 1).result).toBe('c');
});

test('short steps share a turn, also of works that wait', async () => {
  const { take, steps } = start(TURN_MS / 2);
  expect([take('a', 1).result, take('b', 1).result]).toEqual(['a', 'b']);
  const waiting = ['c', 'd', 'e'].map((name) => take(name, 1).result);
  expect(steps).toEqual(['a1', 'b1']);
  await nextRound();
  expect(steps).toEqual(['a1', 'b1', 'c1', 'd1']);
  expect(await Promise.all(waiting)).toEqual(['c', 'd', 'e']);
});

test('between two turns, the thread does what has arrived', async () => {
  const { take, steps } = start();
  const { result } = take('a', 3);
  for (let round = 1; round <= 2; round++) {
    expect(steps).toHaveLength(round);
    await nextRound();
  }
  expect(await result).toBe('a');
});

test('keys take turns, and the works of a key come one after the other', async () => {
  const { take, steps } = start();
  const all = [take('a', 2, 1), take('b', 2, 1), take('c', 3, 2)];
  await Promise.all(all.map(({ result }) => result));
  expect(steps).toEqual(['a1', 'a2', 'c1', 'b1', 'c2', 'b2', 'c3']);
});

test('work whose client leaves is given up, or not begun', async () => {
  const { take, steps } = start();
  const first = take('a', 3);
  const second = take('b', 1, 'a');
  const third = take('c', 1, 'a');
  first.socket.destroyed = true;
  second.socket.destroyed = true;
  const results = await Promise.all([first.result, second.result, third.result]);
  expect(results).toEqual(['left', 'left', 'c']);
  expect(steps).toEqual(['a1', 'c1']);
});

test('a bounded number of steps of a key waits, and clients that have left do not count', async () => {
  const { take } = start();
  take('a', 2);
  const lists = Array.from({ length: 10 }, () => take('b', 50, 'a'));
  for (let single = 0; single < 10; single++) take('c', 1, 'a');
  expect(await take('d', 1, 'a').result).toBe('full');
  expect(await take('e', 50, 'a').result).toBe('full');
  expect(await take('f', 1, 'other').result).toBe('f');
  lists[0].socket.destroyed = true;
  expect(await take('g', 50, 'a').result).toBe('g');
});

test('work that fails ends, and the next one is done', async () => {
  const takeTurns = makeTurns<string>(() => 0);
  function* twoSteps() {
    yield;
    return 'done';
  }
  const first = takeTurns({ key: 1 }, 2, twoSteps());
  const failed = takeTurns({ key: 1 }, 1, {
    next() {
      throw new Error('broken');
    },
  });
  const last = takeTurns({ key: 1 }, 2, twoSteps());
  await expect(failed).rejects.toThrow('broken');
  expect(await Promise.all([first, last])).toEqual(['done', 'done']);
});
