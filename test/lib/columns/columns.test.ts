/** Columns that lead from one space of numbers to another: composed, reversed, grouped and merged. */
import { expect, test } from 'vitest';
import {
  columnOf,
  group,
  groupsOf,
  indexesOf,
  merge,
  reverse,
  through,
  withoutNone,
} from '#lib/columns/columns.ts';
import { NONE } from '#lib/columns/numbers.ts';

const column = (...numbers: number[]) => columnOf<number, number>(Uint32Array.from(numbers));

test('members come in the order of their groups, ascending, without those that have no group', () => {
  const { start, members } = group(column(2, 0, NONE, 2, 0), 4);
  expect([[...start], [...members]]).toEqual([
    [0, 2, 2, 4, 4],
    [1, 4, 0, 3],
  ]);
  expect([...groupsOf(start)]).toEqual([0, 0, 2, 2]);
  expect([...indexesOf(column(7, NONE, 0))]).toEqual([0, 2]);
});

test('what leads nowhere stays so when columns are composed or reversed', () => {
  expect([...through(column(1, NONE, 0), column(5, 6))]).toEqual([6, NONE, 5]);
  expect([...reverse(column(3, NONE, 0), 4)]).toEqual([2, NONE, NONE, 0]);
  expect([...withoutNone(column(NONE, 3, NONE, 0))]).toEqual([3, 0]);
});

test('merged lists are in order, whichever is empty', () => {
  const merged = (left: number[], right: number[]) => [
    ...merge(column(...left), column(...right), (a, b) => a - b),
  ];
  expect(merged([1, 4, 6], [2, 3, 9])).toEqual([1, 2, 3, 4, 6, 9]);
  expect([merged([], [2]), merged([1], []), merged([], [])]).toEqual([[2], [1], []]);
});
