/**
 * Writes the packs of covers and the index of their ids.
 */
import { encodeColumns } from '../../format/index/columns.ts';
import {
  type CoverColumns,
  NO_REGION,
  NOT_FRONT,
  type RecordColumns,
} from '../../format/index/record-index.ts';
import { foldCase } from '../../format/index/words.ts';
import { COVER_INDEX, coversPack } from '../../format/layout.ts';
import type { ManifestFile } from '../../format/manifest.ts';
import type { Covers, Games, Platform } from '../columns/catalogue.ts';
import { putId } from '../columns/ids.ts';
import { mostBytes, putAscii, putBytes, putText } from '../columns/json-bytes.ts';
import { readTagged, type SpillContent, type TaggedPieces } from '../columns/spill-file.ts';
import { makeTextWriter } from '../columns/texts.ts';
import { keptRows, type Numbering } from '../order/numbering.ts';
import { COVERS_PER_BUCKET } from '../read/read-catalogue.ts';
import { encodePlatformRef, encodeText, encodeTime, FIXED_BYTES } from '../read/records.ts';
import { type QueueEnd, type SharedQueue, takeFrom } from '../worker/shared-queue.ts';
import { writeWhole } from './file-writer.ts';
import { idColumns } from './id-columns.ts';
import { namedAsInFile, writePack } from './packs.ts';

const COMMA = 0x2c;
/** The type of front covers, in lower case. */
const FRONT = 'front';

/** The data from which the packs of covers are written. */
export interface CoverSource {
  readonly platforms: readonly Platform[];
  readonly games: Games;
  readonly covers: Covers;
  readonly numbering: Numbering;
  /** The JSON of each file, tagged with the number of its cover. */
  readonly fileSpill: SpillContent;
}

/**
 * Writes the packs of the platforms that this thread takes from the queue.
 * @param columns receive the positions of the covers
 * @param queue the numbers of the platforms
 */
export async function writeCoverPacks(
  dir: string,
  { platforms, games, covers, numbering, fileSpill }: CoverSource,
  columns: RecordColumns,
  queue: SharedQueue,
  end: QueueEnd,
): Promise<ManifestFile[]> {
  const { rowOfGame, firstGame, rowOfCover, firstCover } = numbering;
  const { ids, region, type, approvedAt } = covers;
  const encodeGame = makeGameEncoder(games);
  const regions = covers.regions.map((value) => Buffer.from(encodeText(value)));
  const types = covers.types.map((value) => Buffer.from(encodeText(value)));
  const files = makeFileCopier(fileSpill, rowOfCover.length);
  const written: ManifestFile[] = [];
  for (const platform of takeFrom(queue, end)) {
    const { slug, name } = platforms[platform];
    const reference = Buffer.from(encodePlatformRef(slug, name));
    const from = firstCover[firstGame[platform]];
    const to = firstCover[firstGame[platform + 1]];
    let game = firstGame[platform] - 1;
    let gameMember: Uint8Array = new Uint8Array();
    const pack = writePack(dir, coversPack(slug), from, to, columns, (writer, number) => {
      // Covers come in the order of their games.
      if (number >= firstCover[game + 1]) {
        while (number >= firstCover[game + 1]) game++;
        gameMember = encodeGame(rowOfGame[game], reference);
      }
      const row = rowOfCover[number];
      const ofRegion = regions[region[row]];
      const ofType = types[type[row]];
      const members = ofRegion.length + ofType.length + gameMember.length;
      writer.reserve(FIXED_BYTES + members + files.seek(number));
      const { buffer } = writer;
      let end = putAscii(buffer, writer.at, '{"id":');
      end = putId(buffer, end, ids, row);
      end = putAscii(buffer, end, ',"region":');
      end = putBytes(buffer, end, ofRegion);
      end = putAscii(buffer, end, ',"type":');
      end = putBytes(buffer, end, ofType);
      end = putAscii(buffer, end, ',"approved_at":');
      end = putText(buffer, end, encodeTime(approvedAt[row]));
      end = putAscii(buffer, end, ',"game":');
      end = putBytes(buffer, end, gameMember);
      end = putAscii(buffer, end, ',"files":[');
      end = files.copy(buffer, end);
      writer.at = putAscii(buffer, end, ']}');
    });
    written.push(await pack);
  }
  return written;
}

/** Copies the JSON of the files of a cover from the spill file. */
interface FileCopier {
  /** Selects the files of a cover. @returns the most bytes that {@link copy} will write */
  seek(cover: number): number;
  /** Writes the files with commas between them. @returns the position after them */
  copy(target: Buffer, at: number): number;
}

function makeFileCopier(spill: SpillContent, covers: number): FileCopier {
  let loadedBucket = -1;
  let pieces: TaggedPieces | undefined;
  let from = 0;
  let to = 0;
  return {
    seek(cover) {
      const bucket = Math.floor(cover / COVERS_PER_BUCKET);
      const firstCover = bucket * COVERS_PER_BUCKET;
      if (bucket !== loadedBucket || pieces === undefined) {
        const count = Math.min(COVERS_PER_BUCKET, covers - firstCover);
        pieces = readTagged(spill, bucket, firstCover, count);
        loadedBucket = bucket;
      }
      const { first, length } = pieces;
      from = first[cover - firstCover];
      to = first[cover - firstCover + 1];
      let most = 0;
      for (let piece = from; piece < to; piece++) most += length[piece] + 1;
      return most;
    },
    copy(target, at) {
      if (pieces === undefined) return at;
      const { bytes, start, length } = pieces;
      let end = at;
      for (let piece = from; piece < to; piece++) {
        if (piece > from) target[end++] = COMMA;
        const begin = start[piece];
        end += bytes.copy(target, end, begin, begin + length[piece]);
      }
      return end;
    },
  };
}

/** @returns a function that returns the JSON of a game inside a cover; valid until its next call */
function makeGameEncoder({ slugs, titles }: Games) {
  const slug = makeTextWriter(slugs);
  const title = makeTextWriter(titles);
  let scratch = Buffer.alloc(0);
  return (row: number, platform: Uint8Array): Uint8Array => {
    const texts = slug.lengthOf(row) + mostBytes(title.lengthOf(row));
    const most = FIXED_BYTES + texts + platform.length;
    if (scratch.length < most) scratch = Buffer.allocUnsafeSlow(most * 2);
    let end = putAscii(scratch, 0, '{"slug":"');
    end = slug.put(scratch, end, row);
    end = putAscii(scratch, end, '","title":');
    end = title.putJson(scratch, end, row);
    end = putAscii(scratch, end, ',"platform":');
    end = putBytes(scratch, end, platform);
    return scratch.subarray(0, putAscii(scratch, end, '}'));
  };
}

export function writeCoverIndex(
  dir: string,
  covers: Covers,
  numbering: Numbering,
  columns: RecordColumns,
): Promise<ManifestFile> {
  const { numberOfCover } = numbering;
  const all: CoverColumns = {
    ...columns,
    ...idColumns(covers.ids, keptRows(covers.game.subarray(0, covers.rows)), numberOfCover),
    ...choiceColumns(covers, numbering),
  };
  return writeWhole(dir, COVER_INDEX, encodeColumns(namedAsInFile(all)));
}

/** The columns by which `include=cover` chooses a cover. */
function choiceColumns(
  covers: Covers,
  { rowOfCover, firstCover }: Numbering,
): Pick<CoverColumns, 'region' | 'preference'> {
  const numberOfRegion = numberRegions(covers, rowOfCover);
  const isFrontType = covers.types.map((type) => type !== null && foldCase(type) === FRONT);
  const region = rowOfCover.map((row) => numberOfRegion[covers.region[row]]);
  const preference = new Uint16Array(rowOfCover.length);
  for (let game = 0; game + 1 < firstCover.length; game++) {
    const first = firstCover[game];
    // Rows are in the order of ids.
    const numbers = Array.from({ length: firstCover[game + 1] - first }, (_, i) => first + i);
    numbers.sort((a, b) => rowOfCover[a] - rowOfCover[b]);
    for (const [index, number] of numbers.entries()) {
      const isFront = isFrontType[covers.type[rowOfCover[number]]];
      preference[number] = Math.min(index, NOT_FRONT - 1) + (isFront ? 0 : NOT_FRONT);
    }
  }
  return { region: Uint16Array.from(region), preference };
}

/** For each region of the catalogue, its index in the regions of the search index, or NO_REGION. */
function numberRegions({ regions, region }: Covers, rowOfCover: Uint32Array): number[] {
  const texts = regions.map((value) => value && foldCase(value));
  const published = new Set<string>();
  for (const row of rowOfCover) {
    const text = texts[region[row]];
    if (text !== null) published.add(text);
  }
  // The search index has the same texts in the same order.
  const indexOf = new Map([...published].sort().map((text, index) => [text, index]));
  const numberOf = (text: string) => Math.min(indexOf.get(text) ?? NO_REGION, NO_REGION);
  return texts.map((text) => (text === null ? NO_REGION : numberOf(text)));
}
