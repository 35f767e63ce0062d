/** The container of index files: what is written is read, and a damaged file is refused by its name. */
import { describe, expect, test } from 'vitest';
import { makeRandom } from '#demo/catalogue/random.ts';
import {
  encodeColumns,
  openColumns,
  type StoredColumn,
  viewColumns,
} from '#lib/columns/container.ts';

const VERSION = 4;
const encode = (columns: object) =>
  new Uint8Array(Buffer.concat([...encodeColumns(columns, VERSION)]));
const view = (file: Uint8Array, name: string) => viewColumns(file, name, VERSION);
const TYPES = [Uint8Array, Uint16Array, Uint32Array, Int32Array];

/** A file with other bytes as its directory, its data behind it. */
function withDirectory(directory: string): Uint8Array {
  const file = Buffer.alloc(16 + directory.length + 64);
  file.set(encode({}).subarray(0, 12));
  file.writeUInt32LE(directory.length, 12);
  file.write(directory, 16);
  return new Uint8Array(file);
}

/** Every file that is `file` cut short, or `file` with one bit of its head flipped. */
function* damaged(file: Uint8Array): Generator<[isCut: boolean, file: Uint8Array]> {
  for (let end = 0; end < file.length; end++) yield [true, file.slice(0, end)];
  const head = 16 + new DataView(file.buffer).getUint32(12, true);
  for (let bit = 0; bit < head * 8; bit++) {
    const flipped = file.slice();
    flipped[bit >>> 3] = flipped[bit >>> 3] ^ (1 << (bit & 7));
    yield [false, flipped];
  }
}

describe('columns', () => {
  const random = makeRandom(1);
  const randomColumn = (): StoredColumn => {
    const length = random.below(40);
    const values = Array.from({ length }, () => random.next() * 2 ** 33 - 2 ** 32);
    return random.pick(TYPES).from(values);
  };

  test('of every type and length are read as they were written', () => {
    for (let i = 0; i < 300; i++) {
      const names = Array.from({ length: random.below(30) }, (_, n) => `${n % 3 ? 'é' : 'c'}${n}`);
      const columns = Object.fromEntries(names.map((name) => [name, randomColumn()]));
      const file = encode(columns);
      const shelf = new Uint8Array(file.length + 24);
      shelf.set(file, 16);
      const opened = view(shelf.subarray(16, 16 + file.length), 'some.bin');
      expect(opened).toEqual(columns);
      expect(Object.keys(opened)).toEqual(names);
    }
  });

  test('of a file that is cut short or has a bit of its head flipped stay inside the file', () => {
    const file = encode({ a: randomColumn(), b: Int32Array.of(1, 2), none: new Uint8Array(0) });
    let refused = 0;
    for (const [isCut, broken] of damaged(file)) {
      try {
        for (const { byteOffset, byteLength } of Object.values(view(broken, 'some.bin'))) {
          expect(byteOffset + byteLength).toBeLessThanOrEqual(broken.length);
        }
        expect(isCut).toBe(false);
      } catch (error) {
        refused++;
        expect((error as Error).message).toMatch(/^some\.bin /);
      }
    }
    expect(refused).toBeGreaterThan(file.length + 200);
  });

  test.each([
    ...['null', '{"a":null}', '{"a":1}', '{"a":{}}', '{', '\ufeff{}'],
    ...['"u9"', '"constructor"', '"__proto__"', '1', 'null'].map(
      (type) => `{"a":{"type":${type},"start":64,"length":1}}`,
    ),
    ...['-8', '8', '65', '1e99', '64.5', '"64"', 'null', '800'].map(
      (start) => `{"a":{"type":"u32","start":${start},"length":1}}`,
    ),
    ...['-1', '1.5', '1e9', '9007199254740991', '"1"', 'null'].map(
      (length) => `{"a":{"type":"i32","start":64,"length":${length}}}`,
    ),
  ])('with the directory %s are refused', (directory) => {
    expect(() => view(withDirectory(directory), 'a.bin')).toThrow(/^a\.bin .*is damaged/);
  });

  test('of a file that begins with anything but the magic are refused', () => {
    const file = encode({ a: Uint8Array.of(1) });
    for (let byte = 0; byte < 8; byte++) {
      const other = file.with(byte, file[byte] ^ 1);
      expect(() => view(other, 'some.bin')).toThrow(
        'some.bin is not an index file: it does not begin with "CCCOLUMN".',
      );
    }
  });

  test('have a directory of at most 65,536 bytes that ends inside the file', () => {
    const padded = (length: number) => withDirectory(`{${' '.repeat(length - 2)}}`);
    expect(view(padded(65_536), 'some.bin')).toEqual({});
    expect(() => view(padded(65_537), 'some.bin')).toThrow(
      'some.bin is damaged: its directory of 65537 bytes does not fit.',
    );
    const file = withDirectory('{}');
    file[12] = file.length - 16;
    expect(() => view(file, 'a.bin')).toThrow(
      'a.bin is damaged: its directory is not a JSON object.',
    );
    file[12] = file.length - 15;
    expect(() => view(file, 'some.bin')).toThrow(
      `some.bin is damaged: its directory of ${file.length - 15} bytes does not fit.`,
    );
  });

  test.each([0, VERSION - 1, VERSION + 1, 255])(
    'of version %i are refused naming both versions',
    (version) => {
      const file = encode({});
      file[8] = version;
      const fault = `some.bin has format version ${version}; this program reads version ${VERSION}.`;
      expect(() => view(file, 'some.bin')).toThrow(fault);
    },
  );

  test('of groups have names with a dot', () => {
    const file = encode({ a: Uint8Array.of(1), b: { c: Uint8Array.of(2), d: Uint8Array.of(3) } });
    expect(Object.keys(view(file, 'some.bin'))).toEqual(['a', 'b.c', 'b.d']);
  });

  test('that are missing, or of another type or length, are refused by name', () => {
    const { column } = openColumns(encode({ a: Uint32Array.of(1) }), 'some.bin', VERSION);
    expect([column('a', 'u32'), column('a', 'u32', 1)]).toEqual(
      [[1], [1]].map((entries) => Uint32Array.from(entries)),
    );
    for (const name of ['a', 'b', 'toString']) {
      expect(() => column(name, 'i32')).toThrow(`is damaged: it has no i32 column "${name}".`);
    }
    expect(() => column('a', 'u32', 2)).toThrow('its column "a" has 1 entries, not 2.');
  });
});
