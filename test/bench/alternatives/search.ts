/**
 * Search with SQLite FTS5, over HTTP like the product: the total, and one page of games in the order of titles or
 * years. Usage: node search.ts DATABASE, which is one of `buildFts5`.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { MOST_WORDS, wordsOf } from '../../../find/text/words.ts';
import type { Game } from '../prepare.ts';

interface Query {
  readonly q: string;
  readonly platform: string | null;
  readonly isByYear: boolean;
  readonly first: number;
  readonly count: number;
}

interface Answer {
  readonly total: number;
  readonly games: readonly string[];
}

const NO_YEAR = 10_000;
const newestFirst = (year: number | null) => (year === null ? NO_YEAR : NO_YEAR - 1 - year);
const pathOf = ({ platform, slug }: Pick<Game, 'platform' | 'slug'>) => `${platform}/${slug}`;

/**
 * Contentless, without positions, with an index of prefixes. Row ids are in the order of the titles.
 * @param gamesFile the games as lines, in that order
 */
export function buildFts5(gamesFile: string, databaseFile: string): void {
  const database = new DatabaseSync(databaseFile);
  database.exec(`PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -262144;
    CREATE TABLE game (id INTEGER PRIMARY KEY, path TEXT, platform TEXT, newest INTEGER);
    CREATE VIRTUAL TABLE title USING fts5(words, content='', detail=none, columnsize=0,
      prefix='1 2 3', tokenize="unicode61 remove_diacritics 0 categories 'L* N* M*'");
    BEGIN`);
  const game = database.prepare('INSERT INTO game VALUES (?, ?, ?, ?)');
  const title = database.prepare('INSERT INTO title (rowid, words) VALUES (?, ?)');
  for (const [rank, text] of readFileSync(gamesFile, 'utf8').trimEnd().split('\n').entries()) {
    const one: Game = JSON.parse(text);
    game.run(rank + 1, pathOf(one), one.platform, newestFirst(one.year));
    title.run(rank + 1, wordsOf(one.title).join(' '));
  }
  database.exec(`COMMIT; INSERT INTO title (title) VALUES ('optimize'); ANALYZE`);
  database.close();
}

function openFts5(databaseFile: string): (query: Query) => Answer {
  const database = new DatabaseSync(databaseFile, { readOnly: true });
  database.exec('PRAGMA mmap_size = 4294967296; PRAGMA cache_size = -262144');
  const statements = new Map<string, StatementSync>();
  const prepare = (sql: string) => {
    const statement = statements.get(sql) ?? database.prepare(sql);
    statements.set(sql, statement);
    return statement;
  };
  return ({ q, platform, isByYear, first, count }) => {
    const words = wordsOf(q).slice(0, MOST_WORDS);
    if (words.length === 0) return { total: 0, games: [] };
    const values = [`${words.map((word) => `"${word}"`).join(' AND ')} *`];
    if (platform !== null) values.push(platform);
    const isJoined = platform !== null || isByYear;
    const join = isJoined ? ' JOIN game ON game.id = title.rowid' : '';
    const where = `WHERE title MATCH ?${platform === null ? '' : ' AND game.platform = ?'}`;
    const order = isByYear ? 'game.newest, title.rowid' : 'title.rowid';
    const { total } = prepare(`SELECT count(*) AS total FROM title${join} ${where}`).get(
      ...values,
    ) as { total: number };
    const rows = prepare(
      `SELECT path FROM game JOIN (SELECT title.rowid AS id FROM title${join} ${where}
        ORDER BY ${order} LIMIT ? OFFSET ?) USING (id)`,
    ).all(...values, count, first) as { path: string }[];
    return { total, games: rows.map(({ path }) => path) };
  };
}

function serve(find: (query: Query) => Answer): void {
  const server = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? '/', 'http://localhost');
    const count = Number(searchParams.get('per_page') ?? 50);
    const answer = find({
      ...{ q: searchParams.get('q') ?? '', platform: searchParams.get('platform') },
      isByYear: searchParams.get('sort') === 'year_desc',
      ...{ first: (Number(searchParams.get('page') ?? 1) - 1) * count, count },
    });
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer));
  });
  server.listen(0, '127.0.0.1', () => {
    const { port } = server.address() as AddressInfo;
    process.stderr.write(`listening on http://127.0.0.1:${port}\n`);
  });
}

if (import.meta.main) {
  serve(openFts5(process.argv[2] ?? ''));
}
