/**
 * The search in two databases. Each has the words of the titles in its full-text index, and tables
 * that are designed for these queries: two statements per request, for the page and the count.
 */
import { existsSync, renameSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { createConnection, type RowDataPacket } from 'mysql2/promise';
import { foldCase, MOST_WORDS, wordsOf } from '../../../format/index/words.ts';
import { startMariaDb } from '../../support/servers/mariadb.ts';
import { readDocuments, type SearchDocument } from './documents.ts';
import { type Engine, residentBytes } from './engine.ts';
import { PER_PAGE } from './queries.ts';
import type { TitleQuery } from './query-words.ts';

type Value = string | number;

interface Selection {
  /** The statement from FROM on, without the order. */
  readonly from: string;
  readonly order: string;
  readonly values: readonly Value[];
  /** There is no condition, so the count is the size of the table. */
  readonly isAll: boolean;
}

/** Ranks in the tables start at 1, like the row ids of full-text indexes. */
const NO_YEAR = 10_000;
const MARIADB_SHORTEST_WORD = 3;
const ROWS_PER_INSERT = 1000;
const BUFFER_POOL_BYTES = 2 * 1024 ** 3;

/** @param match the rank column of the full-text table, and the condition for the words */
function select(
  query: TitleQuery,
  match: { table: string; rank: string; condition: string; value: string } | undefined,
): Selection {
  const tables: [table: string, rank: string][] = [];
  const conditions: string[] = [];
  const values: Value[] = [];
  const add = (table: string, rank: string, condition: string, value: Value) => {
    tables.push([table, rank]);
    conditions.push(condition);
    values.push(value);
  };
  if (match !== undefined) add(match.table, match.rank, match.condition, match.value);
  if (query.region !== undefined) {
    add('region', 'region.game', 'region.value = ?', foldCase(query.region));
  }
  if (query.type !== undefined) add('type', 'type.game', 'type.value = ?', foldCase(query.type));
  const isByYear = query.sort === 'year_desc';
  const needsGame = query.platform !== undefined || query.genre !== undefined || isByYear;
  if (needsGame || tables.length === 0) tables.push(['game', 'game.game']);
  if (query.platform !== undefined) {
    conditions.push('game.platform = ?');
    values.push(foldCase(query.platform));
  }
  if (query.genre !== undefined) {
    conditions.push('game.genre IN (SELECT id FROM genre WHERE instr(text, ?) > 0)');
    values.push(foldCase(query.genre));
  }
  const [[first, rank], ...others] = tables as [[string, string], ...[string, string][]];
  const joins = others.map(([table, other]) => ` JOIN ${table} ON ${other} = ${rank}`);
  const where = conditions.length > 0 ? ` WHERE ${conditions.join(' AND ')}` : '';
  return {
    from: `FROM ${first}${joins.join('')}${where}`,
    order: isByYear ? `game.newest, ${needsGame ? 'game.game' : rank}` : rank,
    values,
    isAll: conditions.length === 0,
  };
}

const firstRank = ({ page }: TitleQuery) => ((page ?? 1) - 1) * PER_PAGE;
const queryWords = ({ q }: TitleQuery) => wordsOf(q as string).slice(0, MOST_WORDS);
const newestFirst = ({ year }: SearchDocument) => (year === null ? NO_YEAR : NO_YEAR - 1 - year);

/** SQLite: contentless FTS5 without positions, with indexes of prefixes. */
export function openFts5(folder: string): Engine {
  const file = path.join(folder, 'fts5.db');
  if (!existsSync(file)) buildFts5(folder, file);
  const database = new DatabaseSync(file, { readOnly: true });
  database.exec('PRAGMA mmap_size = 4294967296; PRAGMA cache_size = -262144');
  const { games, seconds } = database.prepare('SELECT games, seconds FROM built').get() as {
    games: number;
    seconds: number;
  };
  const statements = new Map<string, StatementSync>();
  const prepared = (sql: string) => {
    const statement = statements.get(sql) ?? database.prepare(sql);
    statement.setReturnArrays(true);
    statements.set(sql, statement);
    return statement;
  };
  return {
    buildSeconds: seconds,
    find(query) {
      let match: Parameters<typeof select>[1];
      if (query.q !== undefined) {
        const words = queryWords(query);
        if (words.length === 0) return { total: 0, ranks: [] };
        const value = `${words.map((word) => `"${word}"`).join(' AND ')} *`;
        match = { table: 'title', rank: 'title.rowid', condition: 'title MATCH ?', value };
      }
      const { from, order, values, isAll } = select(query, match);
      const column = order.split(', ').at(-1);
      const rows = prepared(`SELECT ${column} ${from} ORDER BY ${order} LIMIT ? OFFSET ?`).all(
        ...values,
        PER_PAGE,
        firstRank(query),
      ) as unknown as [number][];
      const total = isAll
        ? games
        : (prepared(`SELECT count(*) ${from}`).get(...values) as unknown as [number])[0];
      return { total, ranks: rows.map(([game]) => game - 1) };
    },
    close: () => database.close(),
  };
}

function buildFts5(folder: string, file: string): void {
  const started = performance.now();
  const unfinished = `${file}.unfinished`;
  const database = new DatabaseSync(unfinished);
  database.exec(`PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -262144;
    CREATE TABLE game (game INTEGER PRIMARY KEY, platform TEXT, newest INTEGER, genre INTEGER);
    CREATE TABLE genre (id INTEGER PRIMARY KEY, text TEXT UNIQUE);
    CREATE TABLE region (value TEXT, game INTEGER, PRIMARY KEY (value, game)) WITHOUT ROWID;
    CREATE TABLE type (value TEXT, game INTEGER, PRIMARY KEY (value, game)) WITHOUT ROWID;
    CREATE VIRTUAL TABLE title USING fts5(words, content='', detail=none, columnsize=0,
      prefix='1 2 3', tokenize="unicode61 remove_diacritics 0 categories 'L* N* M*'");
    CREATE TABLE built (games INTEGER, seconds REAL);
    BEGIN`);
  const game = database.prepare('INSERT INTO game VALUES (?, ?, ?, ?)');
  const title = database.prepare('INSERT INTO title (rowid, words) VALUES (?, ?)');
  const region = database.prepare('INSERT INTO region VALUES (?, ?)');
  const type = database.prepare('INSERT INTO type VALUES (?, ?)');
  const genres = new Map<string, number>();
  let number = 0;
  for (const document of readDocuments(folder)) {
    number++;
    const genre = genreNumber(genres, document);
    game.run(number, foldCase(document.platform), newestFirst(document), genre);
    title.run(number, wordsOf(document.title).join(' '));
    for (const value of document.regions) region.run(value, number);
    for (const value of document.types) type.run(value, number);
  }
  const genreRow = database.prepare('INSERT INTO genre VALUES (?, ?)');
  for (const [text, id] of genres) genreRow.run(id, text);
  database.exec(`COMMIT; CREATE INDEX by_platform ON game (platform, game);
    CREATE INDEX by_platform_year ON game (platform, newest, game);
    CREATE INDEX by_year ON game (newest, game); CREATE INDEX by_genre ON game (genre, game);
    INSERT INTO title (title) VALUES ('optimize'); ANALYZE`);
  const seconds = (performance.now() - started) / 1000;
  database.prepare('INSERT INTO built VALUES (?, ?)').run(number, seconds);
  database.close();
  renameSync(unfinished, file);
}

/** MariaDB: InnoDB with a FULLTEXT index in boolean mode, in a private server. */
export async function openMariaDb(folder: string): Promise<Engine> {
  const server = await startMariaDb();
  const memoryBefore = residentBytes(server.pid);
  const started = performance.now();
  const connection = await createConnection({ uri: await server.createDatabase('bench') });
  const run = (sql: string, values: unknown[] = []) => connection.query(sql, values);
  // Its list of stop words contains "the".
  await run('SET GLOBAL innodb_ft_enable_stopword = 0');
  await run('SET SESSION innodb_ft_enable_stopword = 0');
  await run(`SET GLOBAL innodb_buffer_pool_size = ${BUFFER_POOL_BYTES}`);
  await run(
    `CREATE TABLE game (FTS_DOC_ID BIGINT UNSIGNED NOT NULL PRIMARY KEY, words TEXT NOT NULL,
      platform VARCHAR(100), newest SMALLINT, genre INT, UNIQUE KEY FTS_DOC_ID_INDEX (FTS_DOC_ID))`,
  );
  await run('CREATE TABLE genre (id INT PRIMARY KEY, text TEXT NOT NULL)');
  for (const table of ['region', 'type']) {
    await run(`CREATE TABLE ${table} (value VARCHAR(100), game BIGINT UNSIGNED,
      PRIMARY KEY (value, game)) COLLATE utf8mb4_bin`);
  }
  await insertAll(run, folder);
  await run(`ALTER TABLE game ADD INDEX by_platform (platform, FTS_DOC_ID),
    ADD INDEX by_platform_year (platform, newest, FTS_DOC_ID),
    ADD INDEX by_year (newest, FTS_DOC_ID), ADD INDEX by_genre (genre, FTS_DOC_ID)`);
  await run('ALTER TABLE game ADD FULLTEXT INDEX (words)');
  await run('ANALYZE TABLE game, region, type');
  const [[{ games }]] = (await run('SELECT count(*) AS games FROM game')) as unknown as [
    [{ games: number }],
  ];
  const buildSeconds = (performance.now() - started) / 1000;
  return {
    buildSeconds,
    pid: server.pid,
    memoryBefore,
    async find(query) {
      let match: Parameters<typeof select>[1];
      if (query.q !== undefined) {
        const words = queryWords(query);
        // Shorter words are not in its index, but the last word is a prefix and is kept.
        const kept = words.filter(
          (word, index) => index === words.length - 1 || word.length >= MARIADB_SHORTEST_WORD,
        );
        if (kept.length === 0) return { total: 0, ranks: [] };
        match = {
          table: 'game',
          rank: 'game.FTS_DOC_ID',
          condition: 'MATCH (game.words) AGAINST (? IN BOOLEAN MODE)',
          value: `${kept.map((word) => `+${word}`).join(' ')}*`,
        };
      }
      const { from, order, values, isAll } = selectInMariaDb(query, match);
      const column = order.split(', ').at(-1);
      const [rows] = await connection.query<RowDataPacket[]>(
        { sql: `SELECT ${column} ${from} ORDER BY ${order} LIMIT ? OFFSET ?`, rowsAsArray: true },
        [...values, PER_PAGE, firstRank(query)],
      );
      let total = games;
      if (!isAll) {
        const [counted] = await connection.query<RowDataPacket[]>(
          { sql: `SELECT count(*) ${from}`, rowsAsArray: true },
          [...values],
        );
        total = (counted[0] as unknown as [number])[0];
      }
      return { total, ranks: rows.map((row) => (row as unknown as [number])[0] - 1) };
    },
    async close() {
      await connection.end();
      await server.stop();
    },
  };
}

// The full-text index belongs to the table of games, whose key must be called FTS_DOC_ID.
function selectInMariaDb(query: TitleQuery, match: Parameters<typeof select>[1]): Selection {
  const selection = select(query, match);
  const rename = (sql: string) => sql.replaceAll('game.game', 'game.FTS_DOC_ID');
  const from = selection.from.replace(' JOIN game ON game.game = game.FTS_DOC_ID', '');
  return { ...selection, from: rename(from), order: rename(selection.order) };
}

async function insertAll(
  run: (sql: string, values: unknown[]) => Promise<unknown>,
  folder: string,
): Promise<void> {
  const rows: Record<'game' | 'region' | 'type' | 'genre', Value[][]> = {
    game: [],
    region: [],
    type: [],
    genre: [],
  };
  const flush = async (least: number) => {
    for (const [table, list] of Object.entries(rows)) {
      if (list.length < least) continue;
      await run(`INSERT INTO ${table} VALUES ?`, [list.splice(0)]);
    }
  };
  await run('SET SESSION unique_checks = 0', []);
  const genres = new Map<string, number>();
  let number = 0;
  for (const document of readDocuments(folder)) {
    number++;
    const genre = genreNumber(genres, document) as number;
    const words = wordsOf(document.title).join(' ');
    rows.game.push([number, words, foldCase(document.platform), newestFirst(document), genre]);
    for (const value of document.regions) rows.region.push([value, number]);
    for (const value of document.types) rows.type.push([value, number]);
    if (number % ROWS_PER_INSERT === 0) await flush(ROWS_PER_INSERT);
  }
  for (const [text, id] of genres) rows.genre.push([id, text]);
  await flush(1);
}

function genreNumber(genres: Map<string, number>, { genres: text }: SearchDocument): number | null {
  if (text === null) return null;
  const folded = foldCase(text);
  const number = genres.get(folded) ?? genres.size + 1;
  genres.set(folded, number);
  return number;
}
