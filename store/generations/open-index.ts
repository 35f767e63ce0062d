/** Opens the record index of a generation on disk, and checks that its values are consistent. */
import { checkRecordIndex } from '../../format/index/check-record-index.ts';
import { openRecordIndex, type RecordIndex } from '../../format/index/record-index.ts';
import { COVER_INDEX, GAME_INDEX, MANIFEST, PLATFORM_INDEX } from '../../format/layout.ts';
import type { Manifest } from '../../format/manifest.ts';
import { readChecked } from '../files/checked-files.ts';
import { readManifest } from './manifest-file.ts';

/**
 * @param dir the generation's folder
 * @throws Error if the generation is damaged or of another version
 */
export function openIndexOf(dir: string): RecordIndex {
  const manifest = readManifest(dir);
  return openIndex(manifest, (name) => {
    const file = manifest.files.find(({ path }) => path === name);
    if (file === undefined) throw new Error(`${MANIFEST} does not name ${name}.`);
    return readChecked(dir, file);
  });
}

/**
 * @param contentOf reads a file of the generation and checks it against the manifest
 * @throws Error that names the file and its first fault
 */
export function openIndex(
  { files }: Manifest,
  contentOf: (name: string) => Uint8Array,
): RecordIndex {
  const sizes = new Map(files.map(({ path, size }) => [path, size]));
  const index = openRecordIndex(
    contentOf(PLATFORM_INDEX),
    contentOf(GAME_INDEX),
    contentOf(COVER_INDEX),
  );
  checkRecordIndex(index, (name) => sizes.get(name));
  return index;
}
