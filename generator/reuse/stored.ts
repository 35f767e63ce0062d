/**
 * Finds what of the catalogue is stored in the earlier generation: the records of kept games and covers, and those
 * of rows that would get the same record. A block has about 16 games, and usually one of them has changed.
 */
import { findById, type IdColumns } from '../../lib/format/index/ids.ts';
import { findGame, gameSlug, type RecordColumns } from '../../lib/format/index/record-index.ts';
import {
  coversPack,
  gamesPack,
  MATCH_INDEX,
  MINISEARCH,
  PATH_INDEX,
  TITLE_INDEX,
  WORD_INDEX,
} from '../../lib/format/layout.ts';
import type { ManifestFile, Settings } from '../../lib/format/manifest.ts';
import type {
  AddForm,
  Covers,
  FileRows,
  Games,
  Platform,
  Stored,
  StoredRecords,
} from '../rows/catalogue.ts';
import {
  type Column,
  type CoverItem,
  columnOf,
  type GameItem,
  indexesOf,
  NONE,
  numbersOf,
} from '../rows/columns.ts';
import { type Ids, idOf } from '../rows/ids.ts';
import {
  makeCoverRecords,
  makeGameRecords,
  openValues,
  type RecordTarget,
} from '../rows/records.ts';
import { type EarlierGeneration, hasHash } from './earlier-generation.ts';

/** Whether the rows of the optional tables are those of the earlier run. */
export interface AreSame {
  readonly titles: boolean;
  readonly externalIds: boolean;
}

export class StoredItems implements Stored {
  readonly games: StoredRecords<GameItem>;
  covers: StoredRecords<CoverItem>;
  private readonly earlier: EarlierGeneration;
  private readonly dir: string;
  private readonly items: Games;
  private twins: Uint32Array | undefined;
  private readonly areSame: AreSame;
  private coverItems: Covers | undefined;
  private same: ReadonlySet<string> | undefined;

  /** @param dir the folder of the new generation */
  constructor(earlier: EarlierGeneration, dir: string, games: Games, areSame: AreSame) {
    this.earlier = earlier;
    this.dir = dir;
    this.items = games;
    this.areSame = areSame;
    this.games = keptRecords(earlier.index.games, games.platform, games.firstRow);
    this.covers = { numberOf: columnOf(new Uint32Array(0)), columns: earlier.index.covers };
  }

  /** Finds the records of games that were read. @param covers which are read, without their files */
  findGames(settings: Settings, platforms: readonly Platform[], covers: Covers): void {
    const { rows, firstRow } = this.items;
    this.coverItems = covers;
    this.covers = keptRecords(this.earlier.index.covers, covers.game, covers.firstRow);
    const coverCount = new Uint32Array(rows.count);
    for (const game of covers.rows.game) if (game !== NONE) coverCount[game]++;
    const addGame = makeGameRecords(settings, platforms, rows);
    findSame(
      this.earlier.index.games,
      this.games,
      firstRow,
      rows.platform,
      rows.ids,
      (target, row) => addGame(target, row, coverCount[row]),
    );
  }

  /** Finds the records of covers that were read, and copies how many files they have. */
  findCovers(settings: Settings, platforms: readonly Platform[], files: FileRows): void {
    if (this.coverItems === undefined) throw new Error('the covers are not read');
    const { rows, firstRow, files: counts } = this.coverItems;
    numbersOf(counts).set(numbersOf(rows.files), firstRow);
    const addCover = makeCoverRecords(settings, platforms, this.items.rows, rows, files);
    findSame(this.earlier.index.covers, this.covers, firstRow, rows.game, rows.ids, addCover);
  }

  inOrder(): Column<number, GameItem> {
    const { index, isKept } = this.earlier;
    const { firstRow } = this.items;
    const itemOf = new Uint32Array(firstRow).fill(NONE);
    isKept.forEach((kept, game) => {
      if (kept === 1) itemOf[game] = game;
    });
    this.findTwins().forEach((game, row) => {
      if (game !== NONE) itemOf[game] = firstRow + row;
    });
    return columnOf(
      index.games.gameOfRank.map((game) => itemOf[game]).filter((item) => item !== NONE),
    );
  }

  slug(game: GameItem): string {
    return gameSlug(this.earlier.index, game);
  }

  title(game: GameItem): string {
    return this.earlier.title(game);
  }

  read(name: string): Buffer {
    return this.earlier.read(name);
  }

  link(name: string): ManifestFile | undefined {
    this.same ??= this.findSameFiles();
    return this.same.has(name) ? this.earlier.link(this.dir, name) : undefined;
  }

  hasReadings(game: GameItem): boolean {
    return this.areSame.titles && this.numberWithTitle(game) !== NONE;
  }

  readings(numberOf: (word: string) => number) {
    const readings = this.earlier.readings(numberOf);
    return (game: GameItem) => readings(this.numberWithTitle(game));
  }

  forms() {
    const addForms = this.earlier.forms();
    return (game: GameItem, add: AddForm) => addForms(this.numberWithTitle(game), add);
  }

  /** Whether a full run would write the same files. */
  isSame(): boolean {
    this.same ??= this.findSameFiles();
    return this.same.size === this.earlier.index.platforms.length * 2 + FILES_OF_NAMES.length;
  }

  /** The earlier number of a game that has the same path, id and title, or none. */
  private numberWithTitle(game: GameItem): number {
    const { firstRow } = this.items;
    return game < firstRow ? game : this.findTwins()[game - firstRow];
  }

  /** For each row, the number of the game that has the same path, id and title, or none. */
  private findTwins(): Uint32Array {
    if (this.twins !== undefined) return this.twins;
    const { rows, firstRow } = this.items;
    const { slug, title } = openValues(rows.texts);
    const twins = numbersOf(this.games.numberOf).slice(firstRow);
    for (const row of indexesOf(rows.platform)) {
      if (twins[row] !== NONE) continue;
      const game = findGame(this.earlier.index, rows.platform[row], slug(row));
      const hasIdAndTitle =
        game !== undefined &&
        findById(this.earlier.index.games, idOf(rows.ids, row)) === game &&
        this.earlier.title(game) === title(row);
      if (hasIdAndTitle) twins[row] = game;
    }
    this.twins = twins;
    return twins;
  }

  /** The packs, and the files of {@link FILES_OF_NAMES}, that have the same bytes as those of the earlier generation. */
  private findSameFiles(): Set<string> {
    const { byId, platform } = this.items;
    const { platforms, games } = this.earlier.index;
    const counts = platforms.map(() => ({ games: 0, sameGames: 0, covers: 0, sameCovers: 0 }));
    for (const game of byId) {
      const count = counts[platform[game]];
      count.games++;
      if (this.games.numberOf[game] !== NONE) count.sameGames++;
    }
    for (const cover of this.coverItems?.byId ?? []) {
      const game = this.coverItems?.game[cover] ?? NONE;
      if (game === NONE) continue;
      const count = counts[platform[game]];
      count.covers++;
      // The order of covers depends on the ids of their games, which the records of covers do not have.
      if (this.covers.numberOf[cover] !== NONE && this.numberWithTitle(game) !== NONE)
        count.sameCovers++;
    }
    const same = new Set<string>();
    for (const [at, { slug, games, covers }] of platforms.entries()) {
      const count = counts[at];
      if (count.games === games && count.sameGames === games) same.add(gamesPack(slug));
      if (count.covers === covers && count.sameCovers === covers) same.add(coversPack(slug));
    }
    const known = this.inOrder().length;
    const haveSameNames = known === byId.length && known === games.rank.length;
    for (const [name, needs] of FILES_OF_NAMES)
      if (haveSameNames && needs.every((table) => this.areSame[table])) same.add(name);
    return same;
  }
}

/** The files that depend only on the ids, paths and titles of games, and on these tables. */
const FILES_OF_NAMES: readonly (readonly [name: string, needs: readonly (keyof AreSame)[]])[] = [
  [PATH_INDEX, []],
  [TITLE_INDEX, ['titles']],
  [WORD_INDEX, ['titles']],
  [MINISEARCH, ['titles']],
  [MATCH_INDEX, ['titles', 'externalIds']],
];

/** The records of kept items, whose numbers are those of the items. @param parentOf none if an item is not kept */
function keptRecords<Item extends number>(
  columns: RecordColumns,
  parentOf: Column<Item, number>,
  firstRow: number,
): StoredRecords<Item> {
  const parents = numbersOf(parentOf);
  const numbers = new Uint32Array(parents.length).fill(NONE);
  for (let item = 0; item < firstRow; item++) if (parents[item] !== NONE) numbers[item] = item;
  return { numberOf: columnOf(numbers), columns };
}

/** Finds the stored record of each published row that would get the same one. @param add writes that of a row */
function findSame<Row extends number, Item extends number>(
  columns: RecordColumns & IdColumns,
  { numberOf }: StoredRecords<Item>,
  firstRow: number,
  parentOf: Column<Row, number>,
  ids: Ids<Row>,
  add: (target: RecordTarget, row: Row) => void,
): void {
  const target = makeTarget();
  for (const row of indexesOf(parentOf)) {
    const number = findById(columns, idOf(ids, row));
    if (number === undefined) continue;
    target.at = 0;
    add(target, row);
    const record = target.buffer.subarray(0, target.at);
    if (hasHash(record, columns.hash, number)) numbersOf(numberOf)[firstRow + row] = number;
  }
}

function makeTarget(): RecordTarget {
  let buffer: Buffer = Buffer.alloc(64 * 1024);
  return {
    get buffer() {
      return buffer;
    },
    at: 0,
    reserve(bytes) {
      if (bytes > buffer.length) buffer = Buffer.alloc(bytes * 2);
    },
  };
}
