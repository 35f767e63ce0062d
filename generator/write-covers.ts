/**
 * Writes the packs of covers and the index of their ids.
 */
import { encodeColumns } from '../format/columns.ts';
import { COVER_INDEX, coversPack } from '../format/layout.ts';
import type { ManifestFile } from '../format/manifest.ts';
import type { CoverColumns, RecordColumns } from '../format/record-index.ts';
import type { FileWriter } from './file-writer.ts';
import { writeWhole } from './file-writer.ts';
import type { Numbering } from './numbering.ts';
import { writePack } from './packs.ts';
import {
  COVERS_PER_BUCKET,
  type Covers,
  type Games,
  LEFT_OUT,
  type Platform,
} from './read-catalogue.ts';
import {
  encodeCoverGame,
  encodeCoverHead,
  encodePlatformRef,
  encodeText,
  encodeTime,
} from './records.ts';
import { idText, openTexts } from './row-columns.ts';
import { readTagged, type SpoolContent, type TaggedPieces } from './spool.ts';

const COMMA = 0x2c;
const CLOSING_BRACKET = 0x5d;
const CLOSING_BRACE = 0x7d;

/** What the packs of covers are made from. */
export interface CoverSource {
  readonly platforms: readonly Platform[];
  readonly games: Games;
  readonly covers: Covers;
  readonly numbering: Numbering;
  /** The JSON of each file, tagged with its cover's number. */
  readonly fileSpool: SpoolContent;
}

/**
 * Which platforms are still to be written: one thread takes them from the front, one from the back,
 * until they meet, so that both are done at the same time.
 */
export interface PlatformQueue {
  readonly platforms: number;
  /** One entry: how many were taken. */
  readonly taken: Int32Array;
}

/**
 * Writes the packs of the platforms that it takes from the queue.
 * @param columns take where each cover stands
 */
export async function writeCoverPacks(
  dir: string,
  { platforms, games, covers, numbering, fileSpool }: CoverSource,
  columns: RecordColumns,
  queue: PlatformQueue,
  end: 'front' | 'back',
): Promise<ManifestFile[]> {
  const { placeOfGame, firstGame, placeOfCover, firstCover } = numbering;
  const slugAt = openTexts(games.slugs);
  const titleAt = openTexts(games.titles);
  const regions = covers.regions.map(encodeText);
  const types = covers.types.map(encodeText);
  const addFiles = makeFileAdder(fileSpool, placeOfCover.length);
  const written: ManifestFile[] = [];
  for (let own = 0; Atomics.add(queue.taken, 0, 1) < queue.platforms; own++) {
    const platform = end === 'front' ? own : queue.platforms - 1 - own;
    const { slug, name } = platforms[platform] as Platform;
    const reference = encodePlatformRef(slug, name);
    const from = firstCover[firstGame[platform] as number] as number;
    const to = firstCover[firstGame[platform + 1] as number] as number;
    let game = (firstGame[platform] as number) - 1;
    let gameMember = '';
    const pack = writePack(dir, coversPack(slug), from, to, columns, (writer, number) => {
      // Covers come in the order of their games.
      if (number >= (firstCover[game + 1] as number)) {
        while (number >= (firstCover[game + 1] as number)) game++;
        const place = placeOfGame[game] as number;
        gameMember = encodeCoverGame(slugAt(place), titleAt(place), reference);
      }
      const place = placeOfCover[number] as number;
      const head = encodeCoverHead(
        idText(covers.ids, place),
        regions[covers.region[place] as number] as string,
        types[covers.type[place] as number] as string,
        encodeTime(covers.approvedAt[place] as number),
        gameMember,
      );
      addFiles(writer, number, head);
    });
    written.push(await pack);
  }
  return written;
}

/** @returns what writes a cover's record from its head and its files */
function makeFileAdder(spool: SpoolContent, covers: number) {
  let loaded = -1;
  let pieces: TaggedPieces | undefined;
  return (writer: FileWriter, number: number, head: string): void => {
    const bucket = Math.floor(number / COVERS_PER_BUCKET);
    const firstNumber = bucket * COVERS_PER_BUCKET;
    if (bucket !== loaded || pieces === undefined) {
      const count = Math.min(COVERS_PER_BUCKET, covers - firstNumber);
      pieces = readTagged(spool, bucket, firstNumber, count);
      loaded = bucket;
    }
    const { bytes, first, start, length } = pieces;
    const from = first[number - firstNumber] as number;
    const to = first[number - firstNumber + 1] as number;
    let most = head.length * 3 + 2;
    for (let piece = from; piece < to; piece++) most += (length[piece] as number) + 1;
    writer.reserve(most);
    const { buffer } = writer;
    let end = writer.at + buffer.write(head, writer.at);
    for (let piece = from; piece < to; piece++) {
      if (piece > from) buffer[end++] = COMMA;
      const begin = start[piece] as number;
      end += bytes.copy(buffer, end, begin, begin + (length[piece] as number));
    }
    buffer[end++] = CLOSING_BRACKET;
    buffer[end++] = CLOSING_BRACE;
    writer.at = end;
  };
}

export function writeCoverIndex(
  dir: string,
  covers: Covers,
  { numberOfCover, placeOfCover }: Numbering,
  columns: RecordColumns,
): Promise<ManifestFile> {
  const count = placeOfCover.length;
  const idHigh = new Uint32Array(count);
  const idLow = new Uint32Array(count);
  const coverOfId = new Uint32Array(count);
  let at = 0;
  // Places ascend with ids.
  for (let place = 0; place < covers.rows; place++) {
    if (numberOfCover[place] === LEFT_OUT) continue;
    idHigh[at] = covers.ids.high[place] as number;
    idLow[at] = covers.ids.low[place] as number;
    coverOfId[at++] = numberOfCover[place] as number;
  }
  const all: CoverColumns = { ...columns, idHigh, idLow, coverOfId };
  return writeWhole(dir, COVER_INDEX, encodeColumns(all));
}
