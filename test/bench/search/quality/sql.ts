/** SQLite FTS5 and MariaDB FULLTEXT, each in the configuration that did best on the tuning halves. */
import { DatabaseSync } from 'node:sqlite';
import { type Connection, createConnection, type RowDataPacket } from 'mysql2/promise';
import { LOOKED_AT } from '../../../proxy/search/judged/quality.ts';
import { startMariaDb } from '../../../support/servers/mariadb.ts';
import {
  COVERS_WEIGHT,
  type Entry,
  foldedWords,
  type JudgedEngine,
  readEntries,
} from './engine.ts';

const ROWS_PER_INSERT = 1000;
/** The length of a trigram. A shorter query contains none. */
const TRIGRAM = 3;

/** Trigrams find misspelt, split and joined words; words only find queries that have no trigram. */
export function openFts5(folder: string): JudgedEngine {
  const database = new DatabaseSync(':memory:');
  database.exec(`
    CREATE VIRTUAL TABLE trigrams USING fts5(title, slug, platform, tokenize='trigram');
    CREATE VIRTUAL TABLE words USING fts5(title, platform, prefix='1 2',
      tokenize="unicode61 remove_diacritics 0 categories 'L* N* M*'");
    CREATE TABLE game (rank INTEGER PRIMARY KEY, weight REAL);
    BEGIN`);
  const trigrams = database.prepare(
    'INSERT INTO trigrams (rowid, title, slug, platform) VALUES (?, ?, ?, ?)',
  );
  const words = database.prepare('INSERT INTO words (rowid, title, platform) VALUES (?, ?, ?)');
  const game = database.prepare('INSERT INTO game VALUES (?, ?)');
  const entries = readEntries(folder);
  for (const [rank, { title, slug, platform, covers }] of entries.entries()) {
    trigrams.run(rank, title, slug, platform);
    words.run(rank, title, platform);
    game.run(rank, 1 + COVERS_WEIGHT * Math.log1p(covers));
  }
  database.exec('COMMIT');
  const select = (table: string) =>
    // bm25() is negative, the best match the lowest.
    database.prepare(`SELECT rank AS game FROM (SELECT rowid AS id, bm25(${table}) AS score
      FROM ${table} WHERE ${table} MATCH ?) JOIN game ON rank = id
      ORDER BY score * weight, rank LIMIT ${LOOKED_AT}`);
  const byTrigrams = select('trigrams');
  const byWords = select('words');
  return {
    find(q) {
      const text = foldedWords(q);
      if (text === '') return [];
      const parts = trigramsOf(text);
      let rows = parts.length > 0 ? byTrigrams.all(anyOf(parts)) : [];
      if (rows.length === 0) rows = byWords.all(`${anyOf(text.split(' '))} *`);
      return rows.map((row) => entries[Number(row.game)].path);
    },
    close: () => database.close(),
  };
}

function trigramsOf(text: string): string[] {
  const letters = [...text];
  const starts = Array.from({ length: Math.max(0, letters.length - TRIGRAM + 1) }, (_, i) => i);
  return [...new Set(starts.map((start) => letters.slice(start, start + TRIGRAM).join('')))];
}

function anyOf(texts: readonly string[]): string {
  return texts.map((text) => `"${text}"`).join(' OR ');
}

/** Its score ignores the length of a text, so it is divided by that of the title. */
export async function openMariaDb(folder: string): Promise<JudgedEngine> {
  const server = await startMariaDb([
    '--innodb-ft-min-token-size=1',
    '--innodb-ft-enable-stopword=0',
    '--innodb-buffer-pool-size=1G',
    // The default refuses queries that match many games.
    '--innodb-ft-result-cache-limit=4000000000',
  ]);
  try {
    const connection = await createConnection({ uri: await server.createDatabase('bench') });
    const entries = readEntries(folder);
    await fillTable(connection, entries);
    return {
      find: (q) => findInTable(connection, entries, foldedWords(q)),
      async close() {
        await connection.end();
        await server.stop();
      },
    };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

async function fillTable(connection: Connection, entries: readonly Entry[]): Promise<void> {
  await connection.query(`CREATE TABLE game (
    FTS_DOC_ID BIGINT UNSIGNED NOT NULL PRIMARY KEY, words TEXT NOT NULL, weight DOUBLE NOT NULL,
    UNIQUE KEY FTS_DOC_ID_INDEX (FTS_DOC_ID))`);
  // Its keys start at 1.
  const rows = entries.map(({ title, platform, covers }, rank) => [
    rank + 1,
    `${title} ${platform}`,
    (1 + COVERS_WEIGHT * Math.log1p(covers)) / (1 + title.length / 20),
  ]);
  for (let start = 0; start < rows.length; start += ROWS_PER_INSERT) {
    const some = rows.slice(start, start + ROWS_PER_INSERT);
    await connection.query('INSERT INTO game VALUES ?', [some]);
  }
  await connection.query('ALTER TABLE game ADD FULLTEXT INDEX (words)');
}

async function findInTable(
  connection: Connection,
  entries: readonly Entry[],
  text: string,
): Promise<string[]> {
  if (text === '') return [];
  const match = 'MATCH (words) AGAINST (? IN BOOLEAN MODE)';
  const sql = `SELECT FTS_DOC_ID FROM game WHERE ${match}
    ORDER BY ${match} * weight DESC, FTS_DOC_ID LIMIT ${LOOKED_AT}`;
  const words = text.split(' ');
  // Every word, the last as a prefix; if no game has them, any word, each as a prefix.
  for (const query of [`+${words.join(' +')}*`, `${words.join('* ')}*`]) {
    const [found] = await connection.query<RowDataPacket[]>(sql, [query, query]);
    if (found.length > 0) return found.map((row) => entries[row.FTS_DOC_ID - 1].path);
  }
  return [];
}
