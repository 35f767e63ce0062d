/** Checks of the values of columns. Each throws an error with the file and its first fault. */

/**
 * The error for a file that is not as its writer writes it.
 * @param fault what is wrong, without a full stop
 */
export function damaged(file: string, fault: string): Error {
  return new Error(`${file} is damaged: ${fault}.`);
}

/**
 * Checks that a column begins with 0, never decreases, and ends with `end`.
 * @param file the file of the column, for the error
 */
export function checkStarts(starts: Uint32Array, end: number, file: string, column: string): void {
  let isRight = starts[0] === 0 && starts[starts.length - 1] === end;
  for (let i = 1; i < starts.length && isRight; i++) isRight = starts[i] >= starts[i - 1];
  if (!isRight) throw damaged(file, `"${column}" does not ascend from 0 to ${end}`);
}

/** Checks that the values from one index (inclusive) to another (exclusive) ascend below a number. */
export function checkAscending(
  values: Uint32Array,
  from: number,
  to: number,
  below: number,
  file: string,
  fault: string,
): void {
  let previous = -1;
  for (let at = from; at < to; at++) {
    if (values[at] <= previous || values[at] >= below) throw damaged(file, fault);
    previous = values[at];
  }
}

/** @param passes the test of each index below `count` */
export function checkEach(
  count: number,
  file: string,
  fault: string,
  passes: (index: number) => boolean,
): void {
  for (let index = 0; index < count; index++) if (!passes(index)) throw damaged(file, fault);
}
