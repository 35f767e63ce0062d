/**
 * Writes the index of the covers: where their records are, by which ids they are found, and the columns by
 * which `include=cover` chooses one cover of a game.
 */
import { encodeColumns } from '../../format/index/columns.ts';
import {
  type CoverColumns,
  NO_REGION,
  NOT_FRONT,
  type RecordColumns,
} from '../../format/index/record-index.ts';
import { foldCase } from '../../format/index/words.ts';
import { COVER_INDEX } from '../../format/layout.ts';
import type { ManifestFile } from '../../format/manifest.ts';
import type { Covers } from '../columns/catalogue.ts';
import { keptRows, type Numbering } from '../order/numbering.ts';
import { sortRange } from '../order/sort-range.ts';
import { writeWhole } from './file-writer.ts';
import { idColumns } from './id-columns.ts';
import { namedAsInFile } from './packs.ts';

/** The type of front covers, in lower case. */
const FRONT = 'front';

/** @param columns the positions of the covers in the packs, which must be complete */
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
  const region = new Uint16Array(rowOfCover.length);
  rowOfCover.forEach((row, number) => {
    region[number] = numberOfRegion[covers.region[row]];
  });
  const preference = new Uint16Array(rowOfCover.length);
  // The numbers of the covers of one game.
  let numbers = new Uint32Array(64);
  // Rows are in the order of ids.
  const compareRows = (a: number, b: number) => rowOfCover[a] - rowOfCover[b];
  for (let game = 0; game + 1 < firstCover.length; game++) {
    const from = firstCover[game];
    const to = firstCover[game + 1];
    const count = to - from;
    if (numbers.length < count) numbers = new Uint32Array(count * 2);
    for (let at = 0; at < count; at++) numbers[at] = from + at;
    sortRange(numbers, 0, count, compareRows);
    for (let at = 0; at < count; at++) {
      const number = numbers[at];
      const isFront = isFrontType[covers.type[rowOfCover[number]]];
      preference[number] = Math.min(at, NOT_FRONT - 1) + (isFront ? 0 : NOT_FRONT);
    }
  }
  return { region, preference };
}

/** For each region of the catalogue, its index in the regions of the search index, or NO_REGION. */
function numberRegions({ regions, region }: Covers, rowOfCover: Uint32Array): number[] {
  const texts = regions.map((value) => value && foldCase(value));
  const published = new Set<string>();
  const isPublished = new Uint8Array(regions.length);
  for (let number = 0; number < rowOfCover.length; number++) {
    isPublished[region[rowOfCover[number]]] = 1;
  }
  texts.forEach((text, value) => {
    if (text !== null && isPublished[value] === 1) published.add(text);
  });
  // The search index has the same texts in the same order.
  const indexOf = new Map([...published].sort().map((text, index) => [text, index]));
  const numberOf = (text: string) => Math.min(indexOf.get(text) ?? NO_REGION, NO_REGION);
  return texts.map((text) => (text === null ? NO_REGION : numberOf(text)));
}
