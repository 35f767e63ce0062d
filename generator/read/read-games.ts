/**
 * Reads the games into columns. Titles, slugs and the values needed to sort and index stay in memory;
 * other texts go straight to a spill file. Those of cached games stay in the records of an earlier run.
 */
import { compareIds } from '../../format/index/ids.ts';
import { type Games, LEFT_OUT, NO_YEAR } from '../columns/catalogue.ts';
import { makePathTable } from '../columns/path-table.ts';
import { growingColumns } from '../columns/row-columns.ts';
import type { SpillFile } from '../columns/spill-file.ts';
import { makeTexts, openTexts } from '../columns/texts.ts';
import { RowFault } from '../report/row-fault.ts';
import { idOfRow } from '../reuse/plan-read.ts';
import type { KnownRows, ReadTable } from './read-table.ts';
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

/** The games of an earlier run, which had the same platforms. */
export interface CachedGames {
  readonly games: Games;
  /** For each cached row: 1 if it is unchanged and not read again, otherwise 0. */
  readonly isKnown: Uint8Array;
  /** The cached row that was published with a path; undefined if none was. */
  rowOf(platform: number, slug: string): number | undefined;
}

/**
 * @param knownPlatforms all ids in the table of platforms
 * @param heads receives the first part of each game's record, up to and including `publisher`; one
 * bucket per platform
 */
export async function readGames(
  read: ReadTable,
  platformNumbers: ReadonlyMap<string, number>,
  knownPlatforms: ReadonlySet<string>,
  heads: SpillFile,
  cached?: CachedGames,
): Promise<Games> {
  const { ids, add, addCached, rows } = makeIds();
  const { columns, reserve } = growingColumns(GAME_COLUMN_TYPES);
  const slugs = makeTexts(cached?.games.slugs);
  const titles = makeTexts(cached?.games.titles);
  const genres = makeRepeatedValues(cached?.games.genres);
  // The paths of the rows that are read. Those of known rows were unique in the earlier run.
  const paths = makePathTable(slugs, (row) => columns.platform[row]);
  const isAffected = new Uint8Array(cached?.games.rows ?? 0);
  const slugTwice = (slug: string) => new RowFault('the slug appears twice on its platform', slug);

  /** A row that is left out has no texts. */
  function reserveAll(row: number): void {
    reserve(row);
    slugs.addEmpty(row);
    titles.addEmpty(row);
  }

  /** @throws RowFault if an earlier row has the path */
  function takePath(platform: number, slug: string, row: number): void {
    const other = cached?.rowOf(platform, slug);
    if (cached !== undefined && other !== undefined && cached.isKnown[other] === 1) {
      const isEarlier = compareIds(idOfRow(cached.games.ids, other), idOfRow(ids, row)) < 0;
      if (isEarlier) throw slugTwice(slug);
      isAffected[other] = 1;
    }
    if (!paths.add(platform, slug, row)) throw slugTwice(slug);
  }

  function takeCached({ games }: CachedGames): KnownRows {
    const slugAt = openTexts(games.slugs, 'latin1');
    return {
      isAffected,
      takeAll(from, to) {
        const row = addCached(games.ids, from, to);
        const end = row + to - from;
        reserveAll(end - 1);
        for (const name of ['platform', 'year', 'genresOf', 'headLength'] as const) {
          columns[name].set(games[name].subarray(from, to), row);
        }
        slugs.addCached(row, from, to);
        titles.addCached(row, from, to);
      },
      takeAffected(cachedRow) {
        const row = addCached(games.ids, cachedRow, cachedRow + 1);
        reserveAll(row);
        columns.platform[row] = LEFT_OUT;
        slugs.addCached(row, cachedRow, cachedRow + 1);
        throw slugTwice(slugAt(cachedRow));
      },
    };
  }

  await read(
    'games',
    GAME_COLUMNS,
    (row, id, note) => {
      const index = add(id);
      reserveAll(index);
      columns.platform[index] = LEFT_OUT;
      const platformId = String(row[1]);
      const platform = platformNumbers.get(platformId);
      if (platform === undefined) {
        const isKnown = knownPlatforms.has(platformId);
        const reason = isKnown ? 'its platform is left out' : 'the platform does not exist';
        throw new RowFault(reason, row[1], true);
      }
      const slug = check.checkSlug(row[2]);
      const title = check.checkText(row[3], 'title');
      const year = check.checkOptionalYear(row[4]);
      const headStart = heads.endOf(platform);
      const start = heads.begin(platform, mostOfRow(row));
      const end = putGameHead(heads.buffer, start, row, note);
      const genresOf = genres.numberOf(row[6], 'genres', note);
      slugs.add(index, slug);
      takePath(platform, slug, index);
      heads.end(platform, end);
      titles.add(index, title);
      columns.platform[index] = platform;
      columns.year[index] = year ?? NO_YEAR;
      columns.genresOf[index] = genresOf;
      columns.headStart[index] = headStart;
      columns.headLength[index] = end - start;
      return undefined;
    },
    cached && takeCached(cached),
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
