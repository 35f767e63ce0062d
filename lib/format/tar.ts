/**
 * A generation as one tar file (POSIX pax). It knows the manifest, and reads nothing: the position of every byte follows
 * from names and sizes, so that any range can be sent alone. The same manifest gives the same bytes.
 */
import { MANIFEST } from './layout.ts';
import type { Manifest, ManifestFile } from './manifest.ts';

const BLOCK = 512;
const LONGEST_NAME = 100;

/** Bytes of the format itself, or the file whose content comes next. */
type ArchivePart = Buffer | ManifestFile;

/** The sizes and headers of an archive, without the content of its files. */
export interface Archive {
  readonly size: number;
  readonly parts: readonly ArchivePart[];
}

/** Reads the bytes of a file from `from` (inclusive) to `to` (exclusive). */
type ReadFile = (file: ManifestFile, from: number, to: number) => AsyncIterable<Buffer>;

/** The manifest, then its files in their order. @param size of the manifest, in bytes */
export function archiveOf({ files }: Manifest, manifestFile: ManifestFile): Archive {
  const dated = files.map((file) => ({ file, seconds: Date.parse(file.changed_at) / 1000 }));
  const latest = Math.max(0, ...dated.map(({ seconds }) => seconds));
  const parts = [{ file: manifestFile, seconds: latest }, ...dated].flatMap(
    ({ file, seconds }): ArchivePart[] => [
      header(file.path, file.size, seconds),
      file,
      padding(file.size),
    ],
  );
  parts.push(Buffer.alloc(2 * BLOCK));
  return { parts, size: parts.reduce((sum, part) => sum + sizeOf(part), 0) };
}

/** The bytes of an archive from `from` (inclusive) to `to` (exclusive). */
export async function* readArchive(
  { parts }: Archive,
  from: number,
  to: number,
  read: ReadFile,
): AsyncGenerator<Buffer> {
  let start = 0;
  for (const part of parts) {
    const first = Math.max(from - start, 0);
    const end = Math.min(to - start, sizeOf(part));
    start += sizeOf(part);
    if (first >= end) continue;
    if ('path' in part) yield* read(part, first, end);
    else yield part.subarray(first, end);
  }
}

function sizeOf(part: ArchivePart): number {
  return 'path' in part ? part.size : part.length;
}

function padding(size: number): Buffer {
  return Buffer.alloc(-size & (BLOCK - 1));
}

function header(name: string, size: number, seconds: number): Buffer {
  if (name.length <= LONGEST_NAME) return block(name, size, seconds, '0');
  // A record of pax says its own length in bytes.
  const record = ` path=${name}\n`;
  const length = [3, 4].find((digits) => String(record.length + digits).length === digits) ?? 0;
  const content = Buffer.from(`${record.length + length}${record}`);
  const before = block(`pax/${MANIFEST}`, content.length, seconds, 'x');
  const own = block(name.slice(0, LONGEST_NAME), size, seconds, '0');
  return Buffer.concat([before, content, padding(content.length), own]);
}

function block(name: string, size: number, seconds: number, type: '0' | 'x'): Buffer {
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, '0')}\0`;
  const owner = octal(0, 7).repeat(2);
  const start = `${name.padEnd(LONGEST_NAME, '\0')}${octal(0o644, 7)}${owner}${octal(size, 11)}${octal(seconds, 11)}`;
  const rest = `${type}${'\0'.repeat(100)}ustar\x0000`;
  let sum = 0;
  for (const byte of Buffer.from(`${start}${' '.repeat(8)}${rest}`)) sum += byte;
  return Buffer.concat([Buffer.from(`${start}${octal(sum, 6)} ${rest}`)], BLOCK);
}
