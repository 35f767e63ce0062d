/** Writes the packs of covers. */
import type { RecordColumns } from '../../format/index/record-index.ts';
import { coversPack } from '../../format/layout.ts';
import type { ManifestFile } from '../../format/manifest.ts';
import { type Covers, type Games, LEFT_OUT, type Platform } from '../columns/catalogue.ts';
import { putId } from '../columns/ids.ts';
import { mostBytes, putAscii, putBytes, putText } from '../columns/json-bytes.ts';
import type { SpillContent } from '../columns/spill-file.ts';
import { makeTextWriter } from '../columns/texts.ts';
import type { Numbering } from '../order/numbering.ts';
import { encodePlatformRef, encodeText, encodeTime, FIXED_BYTES } from '../read/records.ts';
import { openRecords } from '../reuse/earlier-records.ts';
import { earlierNumber, type ReusedCovers, type ReusedGames } from '../reuse/reuse.ts';
import { type QueueEnd, type SharedQueue, takeFrom } from '../worker/shared-queue.ts';
import { makeFileCopier } from './cover-files.ts';
import type { FileWriter } from './file-writer.ts';
import { linkPack } from './link-pack.ts';
import { type CopySource, writePack } from './packs.ts';

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
  { earlier, hasSamePathAndTitle }: ReusedGames,
  { relation, mustRead }: ReusedCovers,
  { game: gameOf }: Covers,
  rowOfCover: Uint32Array,
) {
  const records = earlier.covers;
  const pack = openRecords(earlier, 'covers', records);
  const source: CopySource = {
    earlierNumberOf(number) {
      const row = rowOfCover[number];
      const isSame =
        relation.isSame[row] === 1 && mustRead[row] === 0 && hasSamePathAndTitle[gameOf[row]] === 1;
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
      const earlierRange = [first_cover, first_cover + covers] as const;
      return linkPack(earlier, dir, coversPack(slug), range, earlierRange, columns, source);
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
