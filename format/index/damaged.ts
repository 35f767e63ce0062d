/** The error for a damaged index file, and a check that several columns need. */

/**
 * The error for an index file that is not as a generator writes it.
 * @param fault what is wrong, without a full stop
 */
export function damaged(file: string, fault: string, cause?: unknown): Error {
  return new Error(`${file} is damaged: ${fault}.`, cause === undefined ? {} : { cause });
}

/**
 * Checks that a column begins with 0, never decreases, and ends with `end`.
 * @param file the file of the column, for the error
 */
export function checkStarts(starts: Uint32Array, end: number, file: string, column: string): void {
  let previous = 0;
  let isRight = starts[0] === 0 && starts[starts.length - 1] === end;
  for (let i = 0; i < starts.length && isRight; i++) {
    const start = starts[i];
    isRight = start >= previous;
    previous = start;
  }
  if (!isRight) throw damaged(file, `"${column}" does not ascend from 0 to ${end}`);
}
