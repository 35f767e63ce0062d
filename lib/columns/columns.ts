/** Columns that lead from one space of numbers to another. At run time, a column is a typed array. */

import { firstIndexNear } from './arrays.ts';
import type { StoredColumn } from './container.ts';
import { NONE, type None } from './numbers.ts';

/** For each number of one space, a number of another. */
export type Column<From extends number, To extends number> = Iterable<To> & {
  readonly length: number;
  forEach(call: (value: To, from: From) => void): void;
} & { [At in From]: To };

/** A column over numbers that are in a space already. */
export function columnOf<From extends number, To extends number>(
  numbers: StoredColumn,
): Column<From, To> {
  return numbers as unknown as Column<From, To>;
}

/** The numbers of a column as they are. */
export function numbersOf<From extends number>(column: Column<From, number>): Uint32Array {
  return column as unknown as Uint32Array;
}

/** A column of zeros, or of another value. */
export function makeColumn<From extends number, To extends number>(
  length: number,
  value?: NoInfer<To>,
): Column<From, To> {
  const numbers = new Uint32Array(length);
  return columnOf(value === undefined ? numbers : numbers.fill(value));
}

/** Leads from the first space to the last one, through a column between them. */
export function through<From extends number, Over extends number, To extends number>(
  column: Column<From, NoInfer<Over> | None>,
  next: Column<Over, To>,
): Column<From, To> {
  const [values, targets] = [numbersOf(column), numbersOf(next)];
  const found = new Uint32Array(values.length);
  for (let index = 0; index < values.length; index++)
    found[index] = values[index] === NONE ? NONE : targets[values[index]];
  return columnOf(found);
}

/** Leads back. @param length how many numbers there are in the space that `column` leads to */
export function reverse<From extends number, To extends number>(
  column: Column<From, To | None>,
  length: number,
): Column<To, From | None> {
  const values = numbersOf(column);
  const found = new Uint32Array(length).fill(NONE);
  for (let from = 0; from < values.length; from++)
    if (values[from] !== NONE) found[values[from]] = from;
  return columnOf(found);
}

/** The values of a column that are not {@link NONE}. */
export function withoutNone<From extends number, To extends number>(
  column: Column<From, To | None>,
): Column<number, To> {
  const values = numbersOf(column);
  const found = new Uint32Array(values.length);
  let count = 0;
  for (let index = 0; index < values.length; index++)
    if (values[index] !== NONE) found[count++] = values[index];
  return columnOf(found.subarray(0, count));
}

/** The indexes of a column whose value is not {@link NONE}, ascending. */
export function indexesOf<From extends number>(column: Column<From, number>): Column<number, From> {
  const values = numbersOf(column);
  const found = new Uint32Array(values.length);
  let count = 0;
  for (let index = 0; index < values.length; index++)
    if (values[index] !== NONE) found[count++] = index;
  return columnOf(found.subarray(0, count));
}

/** Members in the order of their groups; within a group, they ascend. */
export interface Groups<Group extends number, Position extends number, Member extends number> {
  /** The position of the first member of each group, and at the end how many members there are. */
  readonly start: Column<Group, Position>;
  readonly members: Column<Position, Member>;
}

/** @param groupOf the group of each member; one without a group is left out */
export function group<Group extends number, Position extends number, Member extends number>(
  groupOf: Column<Member, Group | None>,
  groups: number,
): Groups<Group, Position, Member> {
  const values = numbersOf(groupOf);
  const start = new Uint32Array(groups + 1);
  for (let member = 0; member < values.length; member++)
    if (values[member] !== NONE) start[values[member] + 1]++;
  for (let number = 1; number <= groups; number++) start[number] += start[number - 1];
  const end = start.slice();
  const members = new Uint32Array(start[groups]);
  for (let member = 0; member < values.length; member++)
    if (values[member] !== NONE) members[end[values[member]]++] = member;
  return { start: columnOf(start), members: columnOf(members) };
}

/** For each position, its group: the reverse of {@link group}. */
export function groupsOf<Group extends number, Position extends number>(
  start: Column<Group, Position>,
): Column<Position, Group> {
  const starts = numbersOf(start);
  const groups = new Uint32Array(starts[starts.length - 1]);
  for (const [number, first] of starts.entries()) groups.fill(number, first, starts[number + 1]);
  return columnOf(groups);
}

/** Merges two lists that `compare` has sorted; no two entries are equal. */
export function merge<Of extends number>(
  left: ArrayLike<Of>,
  right: ArrayLike<Of>,
  compare: (a: Of, b: Of) => number,
): Column<number, Of> {
  const merged = new Uint32Array(left.length + right.length);
  let l = 0;
  for (let r = 0; r < right.length; r++) {
    const isAfter = (index: number) => compare(left[index], right[r]) >= 0;
    const end = l < left.length ? firstIndexNear(l, l, left.length, isAfter) : l;
    for (; l < end; l++) merged[l + r] = left[l];
    merged[l + r] = right[r];
  }
  for (; l < left.length; l++) merged[l + right.length] = left[l];
  return columnOf(merged);
}

/** A list of 32-bit numbers that grows. An array would take twice the memory, and leave more garbage. */
export class GrowingList {
  private numbers: Uint32Array;
  private count = 0;

  constructor(capacity = 1024) {
    this.numbers = new Uint32Array(capacity);
  }

  add(number: number): void {
    if (this.count === this.numbers.length) {
      const larger = new Uint32Array(this.count * 2);
      larger.set(this.numbers);
      this.numbers = larger;
    }
    this.numbers[this.count++] = number;
  }

  last(): number | undefined {
    return this.numbers[this.count - 1];
  }

  /** The numbers so far, as a view. */
  all(): Uint32Array {
    return this.numbers.subarray(0, this.count);
  }
}
