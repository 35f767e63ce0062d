/**
 * Reads differences piece by piece, so that memory is bounded however large they are. Every line, the
 * order of the lines and the checksum are checked, and each fault names the file. A file is opened again
 * for each piece: a list of changes may need thousands of files at once, more than a process may open.
 */
import { createHash } from 'node:crypto';
import { closeSync, fstatSync, readSync } from 'node:fs';
import path from 'node:path';
import {
  type Change,
  compareNames,
  type DifferenceHead,
  LARGEST_DIFFERENCE,
  LONGEST_LINE,
  parseChange,
  parseHead,
  parseTail,
} from '../../format/difference-file.ts';
import { CHANGES, differenceFile } from '../../format/layout.ts';
import { openRegularFile } from '../../program/files/bounded-file.ts';

/** A list of changes may have the lines of one piece of each of thousands of files in memory. */
const PIECE_BYTES = 8 * 1024;
/** Shared by all files: its content becomes text at once. */
const piece = Buffer.allocUnsafeSlow(PIECE_BYTES);

/** A difference is missing or damaged, or cannot be read. The message names the file. */
export class DifferenceError extends Error {
  override readonly name = 'DifferenceError';
  readonly isMissing: boolean;

  constructor(id: string, fault: string, cause?: unknown) {
    super(`${CHANGES}/${differenceFile(id)} cannot be used: ${fault}.`, { cause });
    this.isMissing = (cause as NodeJS.ErrnoException | undefined)?.code === 'ENOENT';
  }
}

/**
 * Reads only the head, without checking the rest of the file.
 * @param id of the later generation
 * @returns undefined if there is no difference for this generation
 * @throws DifferenceError
 */
export function readHead(snapshotsDir: string, id: string): DifferenceHead | undefined {
  try {
    for (const line of readLines(snapshotsDir, id)) return headOf(id, line);
  } catch (error) {
    if (error instanceof DifferenceError && error.isMissing) return undefined;
    throw error;
  }
  throw new DifferenceError(id, 'it is empty');
}

/**
 * Reads a difference. The caller must not use the changes unless it has read all of them: only then is
 * the checksum known to be right.
 * @param id of the later generation
 * @param parent the id that the earlier generation must have; undefined for any
 * @throws DifferenceError
 */
export function* readDifference(
  snapshotsDir: string,
  id: string,
  parent?: string,
): Generator<Change> {
  const sha256 = createHash('sha256');
  let head: DifferenceHead | undefined;
  let tail: ReturnType<typeof parseTail>;
  let last: Change | undefined;
  let changes = 0;
  for (const line of readLines(snapshotsDir, id)) {
    if (tail !== undefined) throw new DifferenceError(id, 'it goes on after its last line');
    if (head === undefined) {
      head = headOf(id, line);
      if (head.from !== (parent ?? head.from)) {
        throw new DifferenceError(id, `it begins with ${head.from}, not with ${parent}`);
      }
    } else {
      const change = parseChange(line);
      if (change === undefined) {
        tail = parseTail(line);
        if (tail === undefined) throw new DifferenceError(id, `line ${changes + 2} is damaged`);
        continue;
      }
      if (last !== undefined && compareNames(last, change) >= 0) {
        throw new DifferenceError(id, `line ${changes + 2} is not in order`);
      }
      changes++;
      last = change;
      yield change;
    }
    sha256.update(`${line}\n`, 'latin1');
  }
  if (head === undefined) throw new DifferenceError(id, 'it is empty');
  if (tail === undefined) throw new DifferenceError(id, 'its end is missing');
  if (tail.changes !== changes || tail.sha256 !== sha256.digest('hex')) {
    throw new DifferenceError(id, 'its checksum is wrong');
  }
}

function headOf(id: string, line: string): DifferenceHead {
  let head: DifferenceHead;
  try {
    head = parseHead(line);
  } catch (error) {
    throw new DifferenceError(id, (error as Error).message, error);
  }
  if (head.to !== id) throw new DifferenceError(id, `it belongs to ${head.to}`);
  return head;
}

/** The lines of a file, without their line breaks. */
function* readLines(snapshotsDir: string, id: string): Generator<string> {
  const file = path.join(snapshotsDir, CHANGES, differenceFile(id));
  let rest = '';
  for (let position = 0; ; ) {
    const read = readPiece(file, id, position);
    if (read === 0) break;
    position += read;
    const lines = (rest + piece.toString('latin1', 0, read)).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > LONGEST_LINE) throw new DifferenceError(id, 'it has a line without an end');
    yield* lines;
  }
  if (rest !== '') throw new DifferenceError(id, 'its last line is cut off');
}

/** Reads into `piece`. @returns how many bytes were read; 0 at the end of the file */
function readPiece(file: string, id: string, position: number): number {
  try {
    const descriptor = openRegularFile(file);
    try {
      if (fstatSync(descriptor).size > LARGEST_DIFFERENCE) throw new Error('it is too large');
      return readSync(descriptor, piece, 0, piece.length, position);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    throw new DifferenceError(id, (error as Error).message.replace(/\.$/, ''), error);
  }
}
