/**
 * Writes `search.json`, an index in MiniSearch's serialised form, straight from the postings. MiniSearch
 * itself would produce the same bytes, but would take a gigabyte of memory for 300,000 titles.
 */
import { type Postings, textAt, textCount } from '../../lib/format/index/search-index.ts';

const SERIALIZATION_VERSION = 2;
const PIECE_CHARACTERS = 64 * 1024;

/**
 * The text of the index, in pieces.
 * Each game is a document, with the words of its first reading. The numbers of further readings, which
 * are larger than every rank, are left out.
 * @param frequencies how often each word is in each title, parallel to `postings.entries`
 * @param wordCounts for each rank, how many different words the title has
 * @param pathOf returns the id of the document for a rank, `<platform slug>/<game slug>`
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
    // MiniSearch computes this running mean. The sum divided by the count can differ in the last digit.
    average = (average * rank + words) / (rank + 1);
  });
  yield `{"documentCount":${documents},"nextId":${documents},"documentIds":{`;
  yield* joined(documents, (rank) => `"${rank}":"${pathOf(rank)}"`);
  yield '},"fieldIds":{"title":0},"fieldLength":{';
  yield* joined(documents, (rank) => `"${rank}":[${wordCounts[rank]}]`);
  yield `},"averageFieldLength":${JSON.stringify(documents > 0 ? [average] : [])},"storedFields":{},"dirtCount":0,"index":[`;
  const { entries, entriesStart } = postings;
  const isInFirst = (word: number) =>
    entriesStart[word] < entriesStart[word + 1] && entries[entriesStart[word]] < documents;
  const words = Uint32Array.from({ length: textCount(postings) }, (_, word) => word).filter(
    isInFirst,
  );
  let piece = '';
  for (const [number, index] of words.entries()) {
    piece += `${number > 0 ? ',' : ''}\n[${JSON.stringify(textAt(postings, index))},{"0":{`;
    const from = entriesStart[index];
    const to = entriesStart[index + 1];
    for (let at = from; at < to && entries[at] < documents; at++) {
      piece += `${at > from ? ',' : ''}"${entries[at]}":${frequencies[at]}`;
      // A frequent word is in a third of all titles.
      if (piece.length < PIECE_CHARACTERS) continue;
      yield piece;
      piece = '';
    }
    piece += '}}]';
  }
  yield `${piece}\n],"serializationVersion":${SERIALIZATION_VERSION}}\n`;
}

/** Joins entries with commas, in pieces of about {@link PIECE_CHARACTERS}. */
function* joined(count: number, entryOf: (index: number) => string): Generator<string> {
  let piece = '';
  for (let index = 0; index < count; index++) {
    piece += index > 0 ? `,${entryOf(index)}` : entryOf(index);
    if (piece.length >= PIECE_CHARACTERS) {
      yield piece;
      piece = '';
    }
  }
  yield piece;
}
