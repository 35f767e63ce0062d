/** Texts of the index that contain a part. */
import { type Postings, textCount } from '../../format/index/search-index.ts';

/** All texts of a list as one string, without anything between them. */
export function joinTexts({ text }: Postings): string {
  const { buffer, byteOffset, byteLength } = text;
  return Buffer.from(buffer, byteOffset, byteLength).toString('utf16le');
}

/**
 * The numbers of the texts that contain a part, as ranges.
 * @param joined of {@link joinTexts}
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
      // Neighbours become one range, so that the ranks of many are one run.
      if (last !== undefined && last[1] === number) last[1] = number + 1;
      else ranges.push([number, number + 1]);
    } else {
      // It crosses the boundary between two texts: continue from its second character.
      at = found + 1;
      number--;
    }
  }
  return ranges;
}
