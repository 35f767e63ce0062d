/** Columns of numbers that the generator makes: those that grow, and the starts of groups. */
import { sharedZeros } from '../lib/format/index/arrays.ts';

/** For each group, the index of its first member if all are sorted by group; at the end their number. */
export function startsOf(groupOf: Uint32Array | Uint16Array, groups: number): Uint32Array {
  const starts = sharedZeros(Uint32Array, groups + 1);
  for (let i = 0; i < groupOf.length; i++) starts[groupOf[i] + 1]++;
  for (let group = 1; group <= groups; group++) starts[group] += starts[group - 1];
  return starts;
}

/** For each member, its group: the reverse of {@link startsOf}. */
export function groupsOf(starts: Uint32Array): Uint32Array {
  const groups = new Uint32Array(starts[starts.length - 1]);
  for (const [group, start] of starts.entries()) groups.fill(group, start, starts[group + 1]);
  return groups;
}

/** A column of 32-bit numbers that grows. A list would take twice the memory, and leave more garbage. */
export function makeColumn() {
  let numbers = new Uint32Array(1024);
  let count = 0;
  return {
    add(number: number): void {
      if (count === numbers.length) {
        const larger = new Uint32Array(count * 2);
        larger.set(numbers);
        numbers = larger;
      }
      numbers[count++] = number;
    },
    /** The numbers so far, as a view. */
    all: () => numbers.subarray(0, count),
  };
}
