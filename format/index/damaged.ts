/** The error for a damaged index file, and the check that all columns of starts have in common. */

/**
 * Checks that `starts` begins with 0, never decreases, and ends with `end`.
 * @param name the file and the column, for the error
 */
export function checkStarts(starts: Uint32Array, end: number, name: string): void {
  let previous = 0;
  let isRight = starts[0] === 0 && starts[starts.length - 1] === end;
  for (let i = 0; i < starts.length && isRight; i++) {
    const start = starts[i];
    isRight = start >= previous;
    previous = start;
  }
  if (!isRight) throw damaged(name, `does not ascend from 0 to ${end}`);
}

/**
 * The error for a file with wrong values.
 * @param name the file; if the fault is in a part of it, then ": " and the part
 */
export function damaged(name: string, fault: string): Error {
  const [file, ...part] = name.split(': ');
  return new Error(`${file} is damaged: ${[...part, fault].join(' ')}.`);
}
