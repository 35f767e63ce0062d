/**
 * Forges generations. It changes files of a real generation and updates the sizes, hashes and id in
 * the manifest, so only a check of values can detect the change. The same seed gives the same forgery.
 */
import { hash } from 'node:crypto';
import { makeRandom, type Random } from '#demo/catalogue/random.ts';
import { encodeColumns, type StoredColumn, viewColumns } from '#lib/columns/container.ts';
import { FORMAT_VERSION, generationId, MANIFEST, PLATFORMS } from '#lib/format/layout.ts';
import {
  contentHash,
  encodeManifest,
  type Manifest,
  makeManifest,
  parseManifest,
} from '#lib/format/manifest.ts';

/** The contents of all files, including the manifest, by path. */
export type Files = ReadonlyMap<string, Uint8Array>;

export interface Forgery {
  readonly files: Files;
  readonly id: string;
  /** Describes the changes in the report of a failure. */
  readonly changes: readonly string[];
}

type Change = (file: Uint8Array, random: Random) => Uint8Array;

const aligned = (bytes: Uint8Array) => new Uint8Array(bytes);
const encode = (columns: Record<string, StoredColumn>) =>
  aligned(Buffer.concat([...encodeColumns(columns, FORMAT_VERSION)]));

/** A number that often causes errors, or one near the original. */
function oddNumber(random: Random, before: number, count: number): number {
  return random.pick([
    ...[0, 1, 2, before - 1, before + 1, before * 2, count - 1, count, count + 1],
    ...[random.below(count + 1), 2 ** 16, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 53, -1, 0.5],
    ...[Number.NaN, Number.POSITIVE_INFINITY],
  ]);
}

function changeValues(column: StoredColumn, random: Random): void {
  const { length } = column;
  if (length === 0) return;
  const at = random.below(length);
  const odd = () => oddNumber(random, column[at], length);
  const other = random.below(length);
  random.pick<() => unknown>([
    () => column.fill(odd()),
    () => column.fill(odd(), at),
    () => column.reverse(),
    () => column.copyWithin(at, other, length),
    () => {
      [column[at], column[other]] = [column[other], column[at]];
    },
    () => {
      for (let i = random.below(3); i >= 0; i--) column[(at + i) % length] = odd();
    },
  ])();
}

const changeColumnValues: Change = (file, random) => {
  const columns = viewColumns(file, 'columns', FORMAT_VERSION);
  changeValues(columns[random.pick(Object.keys(columns))], random);
  return file;
};

const changeColumnLength: Change = (file, random) => {
  const columns = { ...viewColumns(file, 'columns', FORMAT_VERSION) };
  const name = random.pick(Object.keys(columns));
  const column = columns[name];
  const length = Math.max(
    0,
    column.length + random.pick([-2, -1, 1, 2, -column.length, column.length]),
  );
  const changed = new (column.constructor as Uint32ArrayConstructor)(length);
  changed.set(column.subarray(0, length) as Uint32Array);
  return encode({ ...columns, [name]: changed });
};

const changeJson: Change = (file, random) => {
  const text = changedJson(Buffer.from(file).toString(), random);
  // A record is a line, or the file would be refused for that.
  const lines = text
    .replace('":[{', '":[\n{')
    .replaceAll('},{', '},\n{')
    .replace(/\}\]\}$/, '}\n]}');
  return aligned(Buffer.from(lines));
};

/** Replaces, removes or repeats one value in a JSON text. */
function changedJson(text: string, random: Random): string {
  const root = { root: JSON.parse(text) };
  let member: { holder: Record<string, unknown>; key: string } = { holder: root, key: 'root' };
  for (let depth = random.below(5); depth >= 0; depth--) {
    const value = member.holder[member.key];
    if (typeof value !== 'object' || value === null || Object.keys(value).length === 0) break;
    member = { holder: value as Record<string, unknown>, key: random.pick(Object.keys(value)) };
  }
  const { holder, key } = member;
  const before = holder[key];
  const number = typeof before === 'number' ? before : 3;
  holder[key] = random.pick<unknown>([
    ...[oddNumber(random, number, 300), oddNumber(random, number, 300), String(before), null],
    ...[[], {}, [before], '', 'x'.repeat(5_000), '../../etc/passwd', '__proto__', 'a\r\nb: c'],
  ]);
  if (random.happens(0.1)) delete holder[key];
  if (Array.isArray(holder) && random.happens(0.2)) holder.push(before);
  return JSON.stringify(root.root) ?? '';
}

const OF_COLUMNS: readonly Change[] = [
  ...[changeColumnValues, changeColumnValues, changeColumnValues],
  changeColumnLength,
];

/** @param base the files of a real generation */
export function forge(base: Files, seed: number): Forgery {
  const random = makeRandom(seed);
  const changed = new Map<string, Uint8Array>();
  const changes: string[] = [];
  const names = [...base.keys()];
  const indexes = names.filter((name) => name.startsWith('index/') || name === PLATFORMS);
  for (let left = random.pick([1, 1, 1, 2, 3]); left > 0; left--) {
    // There are many packs, but readers only copy their bytes, so indexes are changed more often.
    const name = random.happens(0.8) ? random.pick(indexes) : random.pick(names);
    const before = aligned(changed.get(name) ?? (base.get(name) as Uint8Array));
    const change = name.endsWith('.bin') ? random.pick(OF_COLUMNS) : changeJson;
    try {
      changed.set(name, change(before, random));
    } catch {
      // An earlier change has made the file unreadable for this one.
      continue;
    }
    changes.push(`${change.name} of ${name}`);
  }
  return { ...withManifest(new Map([...base, ...changed]), [...changed.keys()]), changes };
}

/** Updates the manifest, even a forged one, to match the files. @returns the files and the id */
function withManifest(files: Map<string, Uint8Array>, changed: readonly string[]) {
  const text = Buffer.from(files.get(MANIFEST) as Uint8Array).toString();
  const asManifest = (manifest: Manifest) => {
    files.set(MANIFEST, aligned(Buffer.from(encodeManifest(manifest))));
    return { files, id: manifest.id };
  };
  if (!changed.includes(MANIFEST)) {
    const manifest = parseManifest(text);
    const entries = manifest.files.map((file) => {
      const bytes = changed.includes(file.path) ? files.get(file.path) : undefined;
      if (bytes === undefined) return file;
      return { path: file.path, size: bytes.length, sha256: hash('sha256', bytes) };
    });
    return asManifest(makeManifest({ ...manifest, files: entries }, manifest.sequence));
  }
  try {
    const manifest = JSON.parse(text) as Manifest;
    return asManifest({ ...manifest, id: generationId(manifest.sequence, contentHash(manifest)) });
  } catch {
    return { files, id: '000001-000000000000' };
  }
}
