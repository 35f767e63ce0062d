/** Opens the record index of a generation on disk, for the commands that look into one. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { COVER_INDEX, GAME_INDEX, PLATFORM_INDEX } from '../format/layout.ts';
import { openRecordIndex, type RecordIndex } from '../format/record-index.ts';
import { readManifest } from './verify.ts';

/** @throws Error when the generation is damaged or of another version */
export function openIndex(dir: string): RecordIndex {
  readManifest(dir);
  const read = (name: string) => new Uint8Array(readFileSync(path.join(dir, name)));
  return openRecordIndex(read(PLATFORM_INDEX), read(GAME_INDEX), read(COVER_INDEX));
}
