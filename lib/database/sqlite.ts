/**
 * The embedded database: an SQLite file, accessed through `node:sqlite`.
 *
 * Each snapshot and each transaction has its own connection, so that no other statement of the process
 * becomes part of it. Statements wait asynchronously for a locked file, because another connection of
 * this process may hold the lock.
 */
import { accessSync, constants, mkdirSync, type Stats, statSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DatabaseSync, type SQLOutputValue, type StatementSync } from 'node:sqlite';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { messageOf } from '../program/failure.ts';
import {
  type Database,
  DatabaseLockedError,
  type LastCommit,
  type SnapshotReader,
  type Value,
  type Writer,
} from './database.ts';

const LOCK_SECONDS = 10;
const ROWS_PER_TURN = 4096;
const SQLITE_BUSY = 5;
const SQLITE_LOCKED = 6;
const SQLITE_READONLY = 8;

/**
 * @param path the file, relative to the working directory
 * @param create whether to create a file that does not exist (in WAL mode), and its folders
 * @throws Error that names the path and the fix
 */
export async function openSqlite(path: string, create: boolean): Promise<Database> {
  const isNew = checkFile(path, create) === undefined;
  let main = connect(path);
  let { ino: inode } = statSync(path);
  const mainWriter = () => writerOn(currentMain(), path);
  try {
    if (isNew) await retryWhileLocked(path, () => main.exec('PRAGMA journal_mode = WAL'));
    await mainWriter().rows('SELECT COUNT(*) FROM sqlite_schema');
  } catch (cause) {
    main.close();
    throw new Error(`${path} cannot be used as a SQLite database: ${messageOf(cause)}`, { cause });
  }

  /** Connects again if another file has taken the place of the one that is open. */
  function currentMain(): DatabaseSync {
    const found = checkFile(path, false)?.ino;
    if (found !== undefined && found !== inode) {
      main.close();
      main = connect(path);
      inode = found;
    }
    return main;
  }

  const lastCommits = async () => new Map<string, LastCommit>();

  const snapshot = async <T>(read: (reader: SnapshotReader) => Promise<T>): Promise<T> => {
    const connection = connect(path);
    try {
      const reader = writerOn(connection, path);
      connection.exec('BEGIN');
      // The snapshot starts with the first read, not with BEGIN.
      await reader.rows('SELECT COUNT(*) FROM sqlite_schema');
      return await read({ rows: reader.rows, each: reader.each, lastCommits });
    } finally {
      connection.close();
    }
  };

  return {
    kind: 'sqlite',
    rows: async (sql, parameters) => mainWriter().rows(sql, parameters),
    run: async (sql, parameters) => mainWriter().run(sql, parameters),
    each: (sql, onRow) => snapshot((reader) => reader.each(sql, onRow)),
    snapshot,
    async transaction(work) {
      const connection = connect(path);
      try {
        await retryWhileLocked(path, () => connection.exec('BEGIN IMMEDIATE'));
        const result = await work(writerOn(connection, path));
        await retryWhileLocked(path, () => connection.exec('COMMIT'));
        return result;
      } finally {
        // Closing a connection rolls back what it has not committed.
        connection.close();
      }
    },
    columns: () => columnsOf(mainWriter()),
    async identity() {
      const { dev, ino } = statSync(path, { bigint: true });
      const schema = await mainWriter().rows(
        'SELECT name, sql FROM sqlite_schema ORDER BY name, type',
      );
      return JSON.stringify([resolve(path), String(dev), String(ino), schema]);
    },
    async changeMark() {
      const version = await mainWriter().rows('PRAGMA data_version');
      return JSON.stringify([inode, version]);
    },
    async usesIndex(sql, parameters) {
      const plan = await mainWriter().rows(`EXPLAIN QUERY PLAN ${sql}`, parameters);
      return !plan.some(([, , , step]) => String(step).startsWith('SCAN'));
    },
    lastCommits,
    async eraseDeleted() {
      // Does not wait: while another connection reads or writes, the log keeps its content.
      await mainWriter().rows('PRAGMA wal_checkpoint(TRUNCATE)');
    },
    async close() {
      main.close();
    },
  };
}

async function columnsOf({ rows }: Writer): Promise<Map<string, Set<string>>> {
  const tables = await rows("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')");
  const columns = new Map<string, Set<string>>();
  for (const [table] of tables) {
    // The columns of a view whose tables were dropped cannot be read. A program that needs the view
    // reports it as broken.
    const names = await rows('SELECT LOWER(name) FROM pragma_table_xinfo(?)', [table]).catch(
      () => [],
    );
    columns.set(String(table).toLowerCase(), new Set(names.map(([name]) => String(name))));
  }
  return columns;
}

/** Checks the file, and creates a missing one if `create` is true. @returns undefined if it is new */
function checkFile(path: string, create: boolean): Stats | undefined {
  if (path === '' || path === ':memory:') {
    throw new Error(`"sqlite:${path}" names no file: write sqlite:path/to/catalogue.db.`);
  }
  let stats: Stats | undefined;
  try {
    stats = statSync(path, { throwIfNoEntry: false });
  } catch (cause) {
    throw cannotOpen(path, cause);
  }
  if (stats === undefined && !create) {
    throw new Error(
      `There is no database file ${path}: fix the path in DATABASE_URL (it is relative to the working directory) or make the file first.`,
    );
  }
  if (stats !== undefined && !stats.isFile()) throw new Error(`${path} is not a file.`);
  if (stats === undefined) {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    // SQLite creates further files with the same data beside this one, and gives them the same mode.
    writeFileSync(path, '', { flag: 'a', mode: 0o600 });
  }
  return stats;
}

function cannotOpen(path: string, cause: unknown): Error {
  return new Error(`${path} cannot be opened: ${messageOf(cause)}${rightsHint(path)}`, { cause });
}

function connect(path: string): DatabaseSync {
  try {
    const connection = new DatabaseSync(path, { timeout: 0 });
    // Deleted content, such as sent e-mails and old hashes of tokens, is overwritten with zeros.
    connection.exec('PRAGMA secure_delete = ON');
    // MySQL has this function, SQLite does not.
    connection.function('CRC32', { deterministic: true }, (value) =>
      value === null ? null : crc32(String(value)),
    );
    return connection;
  } catch (cause) {
    throw cannotOpen(path, cause);
  }
}

/** How to fix missing rights to write to the file or its folder; '' if this program has them. */
function rightsHint(path: string): string {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    accessSync(dirname(path), constants.W_OK | constants.X_OK);
    return '';
  } catch {
    return `. The user of this program (id ${process.geteuid?.()}) must be able to write to the file and to its folder, where SQLite keeps its log: change their owner or mode.`;
  }
}

// The casts: the types of node:sqlite do not express that rows are arrays after setReturnArrays(true).
function writerOn(connection: DatabaseSync, path: string): Writer {
  const step = <T>(sql: string, action: (statement: StatementSync) => T): Promise<T> =>
    retryWhileLocked(path, () => {
      const statement = connection.prepare(sql);
      statement.setReturnArrays(true);
      statement.setReadBigInts(true);
      return action(statement);
    }).catch(fail);
  const fail = (cause: unknown): never => {
    const hint = codeOf(cause) === SQLITE_READONLY ? rightsHint(path) : '';
    throw new Error(`query of ${path}: ${messageOf(cause)}${hint}`, { cause });
  };
  /** Explains the errors of the rows, but not those of the loop that takes them. */
  function* explained(rows: Iterable<unknown>) {
    try {
      yield* rows as Iterable<SQLOutputValue[]>;
    } catch (cause) {
      fail(cause);
    }
  }
  return {
    rows: (sql, parameters = []) =>
      step(sql, (statement) => {
        // Not all(): while the query runs, each garbage collection would visit every row so far.
        const rows = statement.iterate(...parameters);
        try {
          return Array.from(rows as Iterable<unknown>, (row) =>
            (row as SQLOutputValue[]).map(toValue),
          );
        } catch (error) {
          // Resets the statement. Otherwise the connection would keep the lock of its next read, and all
          // writers, this program included, would wait for a lock that nobody releases.
          rows.return?.();
          throw error;
        }
      }),
    run: (sql, parameters = []) =>
      step(sql, (statement) => {
        const { changes, lastInsertRowid } = statement.run(...parameters);
        return { changes: Number(changes), insertId: Number(lastInsertRowid) };
      }),
    async each(sql, onRow) {
      let count = 0;
      for (const row of explained(await step(sql, (statement) => statement.iterate()))) {
        onRow(row.map(toValue));
        if (++count % ROWS_PER_TURN === 0) await nextTurn();
      }
    },
  };
}

// Integers beyond 2^53 can only be read if all integers are read as BigInts, which costs a tenth of
// the time.
function toValue(value: SQLOutputValue): Value {
  if (typeof value === 'bigint') {
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : value.toString();
  }
  return value instanceof Uint8Array ? Buffer.from(value).toString('utf8') : value;
}

/** The primary result code of SQLite, without what details it; 0 for another error. */
function codeOf(error: unknown): number {
  return ((error as { errcode?: number }).errcode ?? 0) & 0xff;
}

/** Runs an action, and retries it while another connection has locked the file. */
async function retryWhileLocked<T>(path: string, action: () => T): Promise<T> {
  const start = performance.now();
  for (let pause = 1; ; pause = Math.min(pause * 2, 50)) {
    try {
      return action();
    } catch (cause) {
      if (![SQLITE_BUSY, SQLITE_LOCKED].includes(codeOf(cause))) throw cause;
      if (performance.now() - start > LOCK_SECONDS * 1000) {
        throw new DatabaseLockedError(
          `${path} has been locked by another program for ${LOCK_SECONDS} s; end it or try again.`,
          { cause },
        );
      }
      await sleep(pause);
    }
  }
}
