/**
 * The binary container of an index file: named columns of numbers. A reader creates a typed array over
 * the bytes of each column, so it parses only the directory. The columns of a group, such as a list of
 * postings, have names with a dot: "words.text".
 *
 *   8 bytes   magic "CCCOLUMN"
 *   4 bytes   format version, little-endian
 *   4 bytes   length of the directory in bytes, little-endian
 *   directory JSON: {"name": {"type": "u32", "start": <byte>, "length": <entries>}, …}
 *   data      each column at the next multiple of 8; "start" counts from the start of the file
 */
import { parseObject } from '../format/json/parse-file.ts';
import { type Checked, isCount, oneOf, withMembers } from '../format/json/values.ts';
import { FORMAT_VERSION } from '../format/layout.ts';

const MAGIC = 'CCCOLUMN';
const HEAD_BYTES = 16;
const LONGEST_DIRECTORY = 65_536;

const TYPES = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, i32: Int32Array };
type ColumnTypes = { u8: Uint8Array; u16: Uint16Array; u32: Uint32Array; i32: Int32Array };
type TypeName = keyof ColumnTypes;
export type StoredColumn = ColumnTypes[TypeName];
export type Columns = Readonly<Record<string, StoredColumn>>;
const isEntry = withMembers({
  type: oneOf('u8', 'u16', 'u32', 'i32'),
  start: isCount,
  length: isCount,
});

// A typed array has the byte order of the machine. Every platform that Node supports is little-endian.
if (new Uint8Array(new Uint32Array([1]).buffer)[0] !== 1) {
  throw new Error('Index files are little-endian and this machine is not.');
}

/**
 * The pieces of a columns file, which the caller writes one after another.
 * @param content columns and groups of columns by name, in the order that they get in the file
 */
export function* encodeColumns(content: object): Generator<Uint8Array> {
  const columns = columnsOf(content);
  const directory: Record<string, Checked<typeof isEntry>> = {};
  const names = Object.keys(columns);
  // The directory holds absolute positions, and their digits change its length, which moves the columns.
  // So the positions are computed again until the length is stable.
  let directoryBytes = 0;
  for (;;) {
    let end = HEAD_BYTES + directoryBytes;
    for (const name of names) {
      const column = columns[name];
      const start = alignUp(end);
      directory[name] = { type: typeOf(column), start, length: column.length };
      end = start + column.byteLength;
    }
    const needed = Buffer.byteLength(JSON.stringify(directory));
    if (needed === directoryBytes) break;
    directoryBytes = needed;
  }
  const head = Buffer.alloc(HEAD_BYTES + directoryBytes);
  head.write(MAGIC);
  head.writeUInt32LE(FORMAT_VERSION, 8);
  head.writeUInt32LE(directoryBytes, 12);
  head.write(JSON.stringify(directory), HEAD_BYTES);
  yield head;
  let end = head.length;
  for (const name of names) {
    const column = columns[name];
    const { start } = directory[name];
    yield new Uint8Array(start - end);
    yield new Uint8Array(column.buffer, column.byteOffset, column.byteLength);
    end = start + column.byteLength;
  }
}

function columnsOf(content: object, group = ''): Columns {
  const found = Object.entries(content).flatMap(([name, value]) =>
    ArrayBuffer.isView(value)
      ? [[group + name, value as StoredColumn]]
      : Object.entries(columnsOf(value, `${group}${name}.`)),
  );
  return Object.fromEntries(found);
}

/**
 * Returns the column with a name and a type.
 * @param entries how many it must have; any number if undefined
 * @throws Error that names the file and the column if there is no such column
 */
export type ColumnReader = <T extends TypeName>(
  name: string,
  type: T,
  entries?: number,
) => ColumnTypes[T];

/**
 * Opens the columns of a file, all of which fit it. They are views of its bytes, not copies.
 * @param content the whole content; its `byteOffset` must be a multiple of 8
 * @param file the name of the file, used in errors
 * @throws Error that names the file and the fault
 */
export function openColumns(content: Uint8Array, file: string): ColumnReader {
  const columns = viewColumns(content, file);
  return <T extends TypeName>(name: string, type: T, entries?: number) => {
    const found = columns[name];
    if (!(found instanceof TYPES[type])) throw damaged(file, `it has no ${type} column "${name}"`);
    if (entries === undefined || found.length === entries) {
      return found as ColumnTypes[T];
    }
    throw damaged(file, `its column "${name}" has ${found.length} entries, not ${entries}`);
  };
}

/** All columns of a file by name. See {@link openColumns}. */
export function viewColumns(file: Uint8Array, name: string): Columns {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  if (bytes.length < HEAD_BYTES || bytes.toString('latin1', 0, 8) !== MAGIC) {
    throw new Error(`${name} is not an index file: it does not begin with "${MAGIC}".`);
  }
  const version = bytes.readUInt32LE(8);
  if (version !== FORMAT_VERSION) {
    throw new Error(
      `${name} has format version ${version}; this program reads version ${FORMAT_VERSION}.`,
    );
  }
  const directoryBytes = bytes.readUInt32LE(12);
  if (directoryBytes > LONGEST_DIRECTORY || HEAD_BYTES + directoryBytes > bytes.length) {
    throw damaged(name, `its directory of ${directoryBytes} bytes does not fit`);
  }
  const dataStart = HEAD_BYTES + directoryBytes;
  const columns: Record<string, StoredColumn> = {};
  const directory = bytes.subarray(HEAD_BYTES, dataStart);
  for (const [column, entry] of Object.entries(parseObject(directory, `${name} (directory)`))) {
    const fits =
      isEntry(entry) &&
      entry.start % 8 === 0 &&
      entry.start >= dataStart &&
      entry.start + entry.length * TYPES[entry.type].BYTES_PER_ELEMENT <= file.byteLength;
    if (!fits) throw damaged(name, `its column "${column}" does not fit the file`);
    const { type, start, length } = entry;
    columns[column] = new TYPES[type](file.buffer as ArrayBuffer, file.byteOffset + start, length);
  }
  return columns;
}

function typeOf(column: StoredColumn): TypeName {
  for (const [name, Type] of Object.entries(TYPES)) {
    if (column instanceof Type) return name as TypeName;
  }
  throw new TypeError('A column must be an array of one of the types in TYPES.');
}

function alignUp(bytes: number): number {
  return Math.ceil(bytes / 8) * 8;
}

/**
 * The error for an index file that is not as a generator writes it.
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
