/**
 * The binary container of an index file: named columns of numbers. A reader creates a typed array over
 * the bytes of each column, so it parses only the directory. The columns of a group, such as a list of
 * postings, have names with a dot: "words.text".
 *
 *   8 bytes   magic "CCCOLUMN"
 *   4 bytes   version of the format of the columns, little-endian: whoever uses the container chooses it
 *   4 bytes   length of the directory in bytes, little-endian
 *   directory JSON: {"name": {"type": "u32", "start": <byte>, "length": <entries>}, …}
 *   data      each column at the next multiple of 8; "start" counts from the start of the file
 */
import { damaged } from './checks.ts';

const MAGIC = 'CCCOLUMN';
const HEAD_BYTES = 16;
const LONGEST_DIRECTORY = 65_536;

const TYPES = {
  u8: Uint8Array,
  u16: Uint16Array,
  u32: Uint32Array,
  i32: Int32Array,
  f64: Float64Array,
};
type ColumnTypes = {
  u8: Uint8Array;
  u16: Uint16Array;
  u32: Uint32Array;
  i32: Int32Array;
  f64: Float64Array;
};
type TypeName = keyof ColumnTypes;
export type StoredColumn = ColumnTypes[TypeName];
export type Columns = Readonly<Record<string, StoredColumn>>;

/** What the directory says of a column. */
interface Entry {
  readonly type: TypeName;
  readonly start: number;
  readonly length: number;
}

/** An open file: its columns, and its name for errors. */
export interface ColumnFile {
  readonly name: string;
  readonly column: ColumnReader;
}

// A typed array has the byte order of the machine. Every platform that Node supports is little-endian.
if (new Uint8Array(new Uint32Array([1]).buffer)[0] !== 1) {
  throw new Error('Index files are little-endian and this machine is not.');
}

/**
 * The pieces of a columns file, which the caller writes one after another.
 * @param content columns and groups of columns by name, in the order that they get in the file
 * @param version of the format of the columns
 */
export function* encodeColumns(content: object, version: number): Generator<Uint8Array> {
  const columns = columnsOf(content);
  const directory: Record<string, Entry> = {};
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
  head.writeUInt32LE(version, 8);
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
 * @param name of the file, used in errors
 * @param version that the file must have
 * @throws Error that names the file and the fault
 */
export function openColumns(content: Uint8Array, name: string, version: number): ColumnFile {
  const columns = viewColumns(content, name, version);
  const column: ColumnReader = <T extends TypeName>(wanted: string, type: T, entries?: number) => {
    const found = columns[wanted];
    if (!(found instanceof TYPES[type]))
      throw damaged(name, `it has no ${type} column "${wanted}"`);
    if (entries === undefined || found.length === entries) {
      return found as ColumnTypes[T];
    }
    throw damaged(name, `its column "${wanted}" has ${found.length} entries, not ${entries}`);
  };
  return { name, column };
}

/** All columns of a file by name. See {@link openColumns}. */
export function viewColumns(file: Uint8Array, name: string, wanted: number): Columns {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  if (bytes.length < HEAD_BYTES || bytes.toString('latin1', 0, 8) !== MAGIC) {
    throw new Error(`${name} is not an index file: it does not begin with "${MAGIC}".`);
  }
  const version = bytes.readUInt32LE(8);
  if (version !== wanted) {
    throw new Error(`${name} has format version ${version}; this program reads version ${wanted}.`);
  }
  const directoryBytes = bytes.readUInt32LE(12);
  if (directoryBytes > LONGEST_DIRECTORY || HEAD_BYTES + directoryBytes > bytes.length) {
    throw damaged(name, `its directory of ${directoryBytes} bytes does not fit`);
  }
  const dataStart = HEAD_BYTES + directoryBytes;
  const columns: Record<string, StoredColumn> = {};
  const directory = bytes.subarray(HEAD_BYTES, dataStart);
  for (const [column, entry] of Object.entries(parseDirectory(directory, name))) {
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

/** @returns what may be entries, by the names of their columns */
function parseDirectory(directory: Buffer, name: string): Record<string, unknown> {
  try {
    const found: unknown = JSON.parse(directory.toString());
    if (isObject(found)) return found;
  } catch {}
  throw damaged(name, 'its directory is not a JSON object');
}

/** Whether a value is an object of JSON. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isEntry(value: unknown): value is Entry {
  if (!isObject(value)) return false;
  const { type, start, length } = value;
  return Object.keys(TYPES).includes(String(type)) && isCount(start) && isCount(length);
}

/** Whether a value is a whole number from 0, exact in JSON. */
export function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
