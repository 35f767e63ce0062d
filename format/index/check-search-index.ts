/**
 * Checks all values of the search index that a search relies on: texts and ranks ascend, every rank
 * is that of a game, and the three columns of years agree. Takes one pass over each column.
 */

import { SEARCH_INDEX } from '../layout.ts';
import { checkStarts, damaged } from './check-record-index.ts';
import { compareTexts, POSTINGS, type Postings, type SearchIndex } from './search-index.ts';

/**
 * @param games how many the generation has
 * @throws Error naming the file and its first fault
 */
export function checkSearchIndex(index: SearchIndex, games: number): void {
  if (index.games !== games) {
    throw damaged(SEARCH_INDEX, `it is made for ${index.games} games, the generation has ${games}`);
  }
  for (const name of POSTINGS) checkPostings(index[name], games, name);
  checkYears(index);
}

function checkPostings(list: Postings, games: number, name: string): void {
  const { text, textStart, ranks, ranksStart } = list;
  checkStarts(textStart, text.length, `${SEARCH_INDEX}: "${name}.textStart"`);
  checkStarts(ranksStart, ranks.length, `${SEARCH_INDEX}: "${name}.ranksStart"`);
  for (let index = 0; index < textStart.length - 1; index++) {
    if (index > 0 && compareTexts(list, index - 1, index) >= 0) {
      throw damaged(SEARCH_INDEX, `the texts of "${name}" do not ascend`);
    }
    let before = -1;
    for (let at = ranksStart[index]; at < ranksStart[index + 1]; at++) {
      const rank = ranks[at];
      if (rank <= before || rank >= games) {
        throw damaged(
          SEARCH_INDEX,
          `the ranks of a text of "${name}" do not ascend below ${games}`,
        );
      }
      before = rank;
    }
  }
}

/** Each game is in `ranksByYear` once, in the run of the year that `yearOfRank` gives it. */
function checkYears({ games, years, yearOfRank, ranksByYear, yearStart }: SearchIndex): void {
  checkStarts(yearStart, games, `${SEARCH_INDEX}: "yearStart"`);
  for (let i = 1; i < years.length; i++) {
    if (years[i] <= years[i - 1]) {
      throw damaged(SEARCH_INDEX, 'its years do not ascend');
    }
  }
  for (let year = 0; year <= years.length; year++) {
    let before = -1;
    for (let at = yearStart[year]; at < yearStart[year + 1]; at++) {
      const rank = ranksByYear[at];
      if (rank <= before || yearOfRank[rank] !== year) {
        throw damaged(SEARCH_INDEX, '"ranksByYear" and "yearOfRank" do not agree');
      }
      before = rank;
    }
  }
}
