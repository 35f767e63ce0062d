/** Finds the texts of the index that contain a given part. */
import { type Postings, textCount } from '../../../format/index/search-index.ts';

/** All texts of a list as one string, without separators. */
export function joinTexts({ text }: Postings): string {
  const { buffer, byteOffset, byteLength } = text;
  return Buffer.from(buffer, byteOffset, byteLength).toString('utf16le');
}

/**
 * The numbers of the texts that contain a part, as ranges of `from` (inclusive) and `to` (exclusive).
 * @param joined the result of {@link joinTexts} for the list
 */
export function textsWith(list: Postings, joined: string, part: string): [number, number][] {
  const { textStart } = list;
  const ranges: [number, number][] = [];
  const count = textCount(list);
  let at = 0;
  for (let number = 0; number < count; number++) {
    if (at < textStart[number]) at = textStart[number];
    const found = joined.indexOf(part, at);
    if (found < 0) break;
    while (textStart[number + 1] <= found) number++;
    if (found + part.length <= textStart[number + 1]) {
      const last = ranges.at(-1);
      // Neighbouring texts become one range, so that their ranks are one run.
      if (last !== undefined && last[1] === number) last[1] = number + 1;
      else ranges.push([number, number + 1]);
    } else {
      // This occurrence crosses the boundary between two texts: continue at its second character.
      at = found + 1;
      number--;
    }
  }
  return ranges;
}
