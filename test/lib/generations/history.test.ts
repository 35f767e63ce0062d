/** How long generations and removed records are known. */
import { expect, test } from 'vitest';
import { sequenceOf } from '#lib/format/layout.ts';
import { forgetOld } from '#lib/generations/history.ts';

const DAY = 86_400_000;
const START = Date.UTC(2026, 10, 1);

/** Generations that were published so many days after the start. */
const publishedOn = (...days: readonly number[]) =>
  days.map((day, at) => ({
    id: `${String(at + 1).padStart(6, '0')}-0123456789ab`,
    published_at: `${new Date(START + day * DAY).toISOString().slice(0, 19)}Z`,
  }));
const removedIn = (...sequences: readonly number[]) =>
  sequences.map((removed) => ({
    kind: 'cover' as const,
    id: `${removed}`,
    path: `/covers/${removed}`,
    added: 1,
    removed,
  }));
/** The sequences that are kept. */
function kept(...args: Parameters<typeof forgetOld>) {
  const { generations, removed } = forgetOld(...args);
  return [generations.map(({ id }) => sequenceOf(id)), removed.map((record) => record.removed)];
}
const everyHalfDay = (count: number) =>
  publishedOn(...Array.from({ length: count }, (_, at) => at / 2));

test('a generation is known for 30 days after it was replaced, and what was removed since', () => {
  const generations = everyHalfDay(70);
  const [known, removed] = kept({ generations, removed: removedIn(2, 8, 9, 10, 70) });
  // The ninth was replaced by the tenth, 30 days before the 70th.
  expect([known?.[0], known?.length]).toEqual([9, 62]);
  expect(removed).toEqual([10, 70]);
});

test('a clock that was wrong once costs a day, and none if it has gone back', () => {
  const [early, late] = [everyHalfDay(30), everyHalfDay(50).slice(30)];
  const after = (days: number) =>
    late.map(({ id, published_at }) => ({
      id,
      published_at: `${new Date(Date.parse(published_at) + days * DAY).toISOString().slice(0, 19)}Z`,
    }));
  for (const days of [4_000, -4_000]) {
    expect(kept({ generations: [...early, ...after(days)], removed: [] })[0]?.length).toBe(50);
  }
});

test('generations that are rarely published count for a day each', () => {
  const generations = publishedOn(...Array.from({ length: 40 }, (_, at) => at * 10));
  expect(kept({ generations, removed: [] })[0]?.length).toBe(32);
});

test('the number of both is bounded: generations are forgotten so that what was removed since is complete', () => {
  const generations = everyHalfDay(10);
  const removed = removedIn(2, 4, 6, 8, 11);
  const most = { generations: 10, removed: 10 };
  expect(kept({ generations, removed }, { ...most, generations: 3 })).toEqual([[8, 9, 10], [11]]);
  expect(kept({ generations, removed }, { ...most, removed: 3 })).toEqual([
    [4, 5, 6, 7, 8, 9, 10],
    [6, 8, 11],
  ]);
  expect(kept({ generations, removed: removedIn(11, 11, 11) }, { ...most, removed: 2 })).toEqual([
    [],
    [],
  ]);
});
