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
import { type Covers, type Games, LEFT_OUT, type Platform } from '../columns/catalogue.ts';
import { putId } from '../columns/ids.ts';
import { mostBytes, putAscii, putBytes, putText } from '../columns/json-bytes.ts';
import { readTagged, type SpillContent, type TaggedPieces } from '../columns/spill-file.ts';
import { makeTextWriter } from '../columns/texts.ts';
import { keptRows, type Numbering } from '../order/numbering.ts';
import { COVERS_PER_BUCKET } from '../read/read-files.ts';
import { encodePlatformRef, encodeText, encodeTime, FIXED_BYTES } from '../read/records.ts';
import { openRecords } from '../reuse/earlier-records.ts';
import { earlierNumber, type ReusedCovers, type ReusedGames } from '../reuse/reuse.ts';
import { type QueueEnd, type SharedQueue, takeFrom } from '../worker/shared-queue.ts';
import { type FileWriter, writeWhole } from './file-writer.ts';
import { idColumns } from './id-columns.ts';
import { linkPack } from './link-pack.ts';
import { type CopySource, namedAsInFile, writePack } from './packs.ts';

const COMMA = 0x2c;
/** The type of front covers, in lower case. */
const FRONT = 'front';

/** The data from which the packs of covers are written. */
export interface CoverSource {
  readonly platforms: readonly Platform[];
  readonly games: Games;
  readonly covers: Covers;
  readonly numbering: Numbering;
  /** The JSON of each file that was read, tagged with the number of its cover. */
  readonly fileSpill: SpillContent;
  /** Undefined if all rows were read. */
  readonly reused: { readonly games: ReusedGames; readonly covers: ReusedCovers } | undefined;
}

/**
 * Writes the packs of the platforms that this thread takes from the queue.
 * @param columns receive the positions of the covers
 * @param queue the numbers of the platforms
 */
export async function writeCoverPacks(
  dir: string,
  { platforms, games, covers, numbering, fileSpill, reused }: CoverSource,
  columns: RecordColumns,
  queue: SharedQueue,
  end: QueueEnd,
): Promise<ManifestFile[]> {
  const { rowOfGame, firstGame, rowOfCover, firstCover } = numbering;
  const { ids, region, type, approvedAt } = covers;
  const encodeGame = makeGameEncoder(games);
  const regions = covers.regions.map((value) => Buffer.from(encodeText(value)));
  const types = covers.types.map((value) => Buffer.from(encodeText(value)));
  const source = reused && copySource(reused.games, reused.covers, covers, rowOfCover);
  const files = makeFileCopier(fileSpill, rowOfCover.length, source?.filesOf);
  const written: ManifestFile[] = [];
  for (const platform of takeFrom(queue, end)) {
    const { slug, name } = platforms[platform];
    const reference = Buffer.from(encodePlatformRef(slug, name));
    const from = firstCover[firstGame[platform]];
    const to = firstCover[firstGame[platform + 1]];
    const linked = source?.link(platform, dir, [from, to], columns);
    if (linked !== undefined) {
      written.push(linked);
      continue;
    }
    let game = firstGame[platform] - 1;
    let gameMember: Uint8Array = new Uint8Array();
    const addRecord = (writer: FileWriter, number: number) => {
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
    };
    written.push(await writePack(dir, coversPack(slug), from, to, columns, addRecord, source));
  }
  source?.pack.close();
  return written;
}

/** The end of a record begins with this member. No text has it inside, since quotes are escaped there. */
const FILES_MEMBER = Buffer.from(',"files":[');
const RECORD_END_BYTES = ']}'.length;

/** A cover is copied if neither it nor its files nor the members of its game have changed. */
function copySource(
  { earlier, isSamePath }: ReusedGames,
  { relation, mustRead }: ReusedCovers,
  { game: gameOf }: Covers,
  rowOfCover: Uint32Array,
) {
  const pack = openRecords(earlier, 'covers');
  const records = earlier.covers;
  const source: CopySource = {
    numberOf(number) {
      const row = rowOfCover[number];
      const isSame =
        relation.isKnown[row] === 1 && mustRead[row] === 0 && isSamePath[gameOf[row]] === 1;
      return isSame ? earlierNumber(records.numberOf, relation, row) : LEFT_OUT;
    },
    records,
    pack,
  };
  return {
    ...source,
    /** The JSON of a cover's files with commas between them; undefined if they were read in this run. */
    filesOf(number: number): Buffer | undefined {
      const row = rowOfCover[number];
      if (mustRead[row] === 1) return undefined;
      const record = pack.read(earlierNumber(records.numberOf, relation, row));
      const start = record.indexOf(FILES_MEMBER) + FILES_MEMBER.length;
      return record.subarray(start, record.length - RECORD_END_BYTES);
    },
    link(
      platform: number,
      dir: string,
      range: readonly [number, number],
      columns: RecordColumns,
    ): ManifestFile | undefined {
      const { slug, first_cover, covers } = earlier.platforms[platform];
      const before = [first_cover, covers] as const;
      return linkPack(earlier, dir, coversPack(slug), range, before, columns, source);
    },
  };
}

/** Copies the JSON of the files of a cover from the spill file. */
interface FileCopier {
  /** Selects the files of a cover. @returns the most bytes that {@link copy} will write */
  seek(cover: number): number;
  /** Writes the files with commas between them. @returns the position after them */
  copy(target: Buffer, at: number): number;
}

/** @param earlierFiles the files of a cover in its earlier record, or undefined if they are in the spill file */
function makeFileCopier(
  spill: SpillContent,
  covers: number,
  earlierFiles: (cover: number) => Buffer | undefined = () => undefined,
): FileCopier {
  let loadedBucket = -1;
  let earlier: Buffer | undefined;
  let pieces: TaggedPieces | undefined;
  let from = 0;
  let to = 0;
  return {
    seek(cover) {
      earlier = earlierFiles(cover);
      if (earlier !== undefined) return earlier.length;
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
      if (earlier !== undefined) return putBytes(target, at, earlier);
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
