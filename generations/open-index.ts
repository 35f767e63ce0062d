/** Opens the record index of a generation on disk, and checks that its values are consistent. */
import { checkRecordIndex } from '../format/index/check-record-index.ts';
import { openRecordIndex, type RecordIndex } from '../format/index/record-index.ts';
import { MANIFEST } from '../format/layout.ts';
import type { Manifest } from '../format/manifest.ts';
import { HASH_ALWAYS } from './files/known-files.ts';
import { readManifest } from './manifest-file.ts';

/**
 * @param dir the generation's folder
 * @param read reads a file of it and checks it against the manifest
 * @throws Error if the generation is damaged or of another version
 */
export function openIndexOf(dir: string, read = HASH_ALWAYS.read): RecordIndex {
  const manifest = readManifest(dir);
  return openIndex(manifest, (name) => {
    const file = manifest.files.find(({ path }) => path === name);
    if (file === undefined) throw new Error(`${MANIFEST} does not name ${name}.`);
    return read(dir, file);
  });
}

/**
 * @param contentOf reads a file of the generation and checks it against the manifest
 * @throws Error that names the file and its first fault
 */
export function openIndex(
  { files }: Pick<Manifest, 'files'>,
  contentOf: (name: string) => Uint8Array,
): RecordIndex {
  const sizes = new Map(files.map(({ path, size }) => [path, size]));
  const index = openRecordIndex(contentOf);
  checkRecordIndex(index, (name) => sizes.get(name));
  return index;
}
