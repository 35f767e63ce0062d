/**
 * Reads the games into columns. Titles, slugs and the values needed to sort and index stay in memory;
 * other texts go straight to a spill file. Those of cached games stay in the records of an earlier run.
 */
import { type Games, LEFT_OUT, NO_YEAR } from '../columns/catalogue.ts';
import { growingColumns } from '../columns/row-columns.ts';
import type { SpillFile } from '../columns/spill-file.ts';
import { makeTexts, makeTextWriter, openTexts } from '../columns/texts.ts';
import { RowFault } from '../report/row-fault.ts';
import type { ReadTable } from './read-table.ts';
import { GAME_COLUMNS, mostOfRow, putGameHead } from './records.ts';
import { makeRepeatedValues } from './repeated-values.ts';
import * as check from './row-checks.ts';
import { makeIds } from './table-ids.ts';

const GAME_COLUMN_TYPES = {
  platform: Uint32Array,
  year: Int16Array,
  genresOf: Uint32Array,
  headStart: Float64Array,
  headLength: Uint32Array,
};

/**
 * @param knownPlatforms all ids in the table of platforms
 * @param heads receives the first part of each game's record, up to and including `publisher`; one
 * bucket per platform
 * @param cached the games of an earlier run, which had the same platforms
 */
export async function readGames(
  read: ReadTable,
  platformNumbers: ReadonlyMap<string, number>,
  knownPlatforms: ReadonlySet<string>,
  heads: SpillFile,
  cached?: Games,
): Promise<Games> {
  const { ids, add, addCached, rows } = makeIds();
  const { columns, reserve } = growingColumns(GAME_COLUMN_TYPES);
  const slugs = makeTexts();
  const titles = makeTexts();
  const genres = makeRepeatedValues();
  const taken = Array.from({ length: platformNumbers.size }, () => new Set<string>());
  const takeSlug = (platform: number, slug: string) => {
    if (taken[platform].has(slug)) {
      throw new RowFault('the slug stands twice on its platform', slug);
    }
    taken[platform].add(slug);
  };

  function makeCachedGames(games: Games) {
    const cachedSlug = openTexts(games.slugs, 'latin1');
    const slugTexts = makeTextWriter(games.slugs);
    const titleTexts = makeTextWriter(games.titles);
    return (cachedRow: number): undefined => {
      const index = addCached(games.ids, cachedRow);
      reserve(index);
      columns.platform[index] = LEFT_OUT;
      slugs.addBytes(index, slugTexts.lengthOf(cachedRow), (target, at) => {
        slugTexts.put(target, at, cachedRow);
      });
      const platform = games.platform[cachedRow];
      takeSlug(platform, cachedSlug(cachedRow));
      titles.addBytes(index, titleTexts.lengthOf(cachedRow), (target, at) => {
        titleTexts.put(target, at, cachedRow);
      });
      columns.platform[index] = platform;
      columns.year[index] = games.year[cachedRow];
      const text = games.genres[games.genresOf[cachedRow]] ?? null;
      columns.genresOf[index] = genres.numberOf(text, 'genres', () => {});
      columns.headStart[index] = Number.NaN;
      columns.headLength[index] = games.headLength[cachedRow];
    };
  }

  await read(
    'games',
    GAME_COLUMNS,
    (row, id, note) => {
      const index = add(id);
      reserve(index);
      columns.platform[index] = LEFT_OUT;
      const platformId = String(row[1]);
      const platform = platformNumbers.get(platformId);
      if (platform === undefined) {
        const isKnown = knownPlatforms.has(platformId);
        const reason = isKnown ? 'its platform is left out' : 'the platform does not exist';
        throw new RowFault(reason, row[1], isKnown);
      }
      const slug = check.checkSlug(row[2]);
      const title = check.checkText(row[3], 'title');
      const year = check.checkOptionalYear(row[4]);
      const headStart = heads.endOf(platform);
      const start = heads.begin(platform, mostOfRow(row));
      const end = putGameHead(heads.buffer, start, row, note);
      const genresOf = genres.numberOf(row[6], 'genres', note);
      slugs.add(index, slug);
      takeSlug(platform, slug);
      heads.end(platform, end);
      titles.add(index, title);
      columns.platform[index] = platform;
      columns.year[index] = year ?? NO_YEAR;
      columns.genresOf[index] = genresOf;
      columns.headStart[index] = headStart;
      columns.headLength[index] = end - start;
      return undefined;
    },
    cached && makeCachedGames(cached),
  );
  return {
    rows: rows(),
    ids,
    titles: titles.texts,
    slugs: slugs.texts,
    genres: genres.values(),
    ...columns,
  };
}
