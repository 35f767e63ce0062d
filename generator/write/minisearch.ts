/**
 * `search.json`: a MiniSearch index in its own serialised form, written straight from the postings.
 * Building it through MiniSearch takes a gigabyte at 300,000 titles; the bytes are the same.
 */
import { type Postings, textAt, textCount } from '../../format/index/search-index.ts';

const SERIALIZATION_VERSION = 2;
const PIECE_CHARACTERS = 64 * 1024;

/**
 * The text of the index, in pieces.
 * @param frequencies how often each word stands in each title, beside `postings.ranks`
 * @param wordCounts by rank: how many different words the title has
 * @param pathOf by rank: the document's id, `<platform slug>/<game slug>`
 */
export function* encodeMiniSearch(
  postings: Postings,
  frequencies: Uint8Array,
  wordCounts: Uint16Array,
  pathOf: (rank: number) => string,
): Generator<string> {
  const documents = wordCounts.length;
  let average = 0;
  wordCounts.forEach((words, rank) => {
    // Its running mean, so that the last digit is its too.
    average = (average * rank + words) / (rank + 1);
  });
  yield `{"documentCount":${documents},"nextId":${documents},"documentIds":{`;
  yield* joined(documents, (rank) => `"${rank}":"${pathOf(rank)}"`);
  yield '},"fieldIds":{"title":0},"fieldLength":{';
  yield* joined(documents, (rank) => `"${rank}":[${wordCounts[rank]}]`);
  yield `},"averageFieldLength":${JSON.stringify(documents > 0 ? [average] : [])},"storedFields":{},"dirtCount":0,"index":[`;
  yield* joined(textCount(postings), (place) => {
    const from = postings.ranksStart[place];
    const to = postings.ranksStart[place + 1];
    let entry = `\n[${JSON.stringify(textAt(postings, place))},{"0":{`;
    for (let at = from; at < to; at++) {
      entry += `${at > from ? ',' : ''}"${postings.ranks[at]}":${frequencies[at]}`;
    }
    return `${entry}}}]`;
  });
  yield `\n],"serializationVersion":${SERIALIZATION_VERSION}}\n`;
}

/** Entries with commas between them, gathered into larger pieces. */
function* joined(count: number, entryOf: (place: number) => string): Generator<string> {
  let piece = '';
  for (let place = 0; place < count; place++) {
    piece += place > 0 ? `,${entryOf(place)}` : entryOf(place);
    if (piece.length >= PIECE_CHARACTERS) {
      yield piece;
      piece = '';
    }
  }
  yield piece;
}
