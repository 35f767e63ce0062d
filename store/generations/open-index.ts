/** Opens the record index of a generation on disk, for the commands that look into one. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { checkRecordIndex } from '../../format/index/check-record-index.ts';
import { openRecordIndex, type RecordIndex } from '../../format/index/record-index.ts';
import { COVER_INDEX, GAME_INDEX, PLATFORM_INDEX } from '../../format/layout.ts';
import { readManifest } from './verify.ts';

/** @throws Error when the generation is damaged or of another version */
export function openIndex(dir: string): RecordIndex {
  const sizes = new Map(readManifest(dir).files.map((file) => [file.path, file.size]));
  const read = (name: string) => new Uint8Array(readFileSync(path.join(dir, name)));
  const index = openRecordIndex(read(PLATFORM_INDEX), read(GAME_INDEX), read(COVER_INDEX));
  checkRecordIndex(index, (name) => sizes.get(name));
  return index;
}
