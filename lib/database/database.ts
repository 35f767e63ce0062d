/**
 * The interface to a database. The same calls and the same SQL work on MySQL, MariaDB and the embedded
 * SQLite. The generator reads the catalogue through it; `keys/` reads and writes its own tables.
 */

/** The most connections that an open database has to its server. */
export const MOST_CONNECTIONS = 10;

/**
 * A value of a row. An integer is a number, or a string of decimal digits if it is beyond 2^53. A time
 * is "YYYY-MM-DD HH:MM:SS" in UTC; a zero date is "0000-00-00 00:00:00", as the database stores it.
 */
export type Value = string | number | null;
export type Row = readonly Value[];

export interface Reader {
  /** Reads a small result. @returns all rows; values are in the order of the selected columns */
  rows(sql: string, parameters?: readonly Value[]): Promise<Row[]>;
  /**
   * Calls `onRow` with each row of a large result as it arrives, so that memory use stays constant.
   * @throws Error if the connection or the query dies mid-stream; the call never hangs. An error that
   * `onRow` throws ends the stream and is thrown unchanged.
   */
  each(sql: string, onRow: (row: Row) => void): Promise<void>;
}

/** How many rows a query selects. @param from what follows FROM in it */
export async function selectCount(
  reader: Reader,
  from: string,
  parameters: readonly Value[] = [],
): Promise<number> {
  const [[count = 0] = []] = await reader.rows(`SELECT COUNT(*) FROM ${from}`, parameters);
  return Number(count);
}

/** Another program has locked an SQLite file for too long. */
export class DatabaseLockedError extends Error {
  override readonly name = 'DatabaseLockedError';
}

/**
 * Whether work failed because the database cannot be used at present: it is locked, or does not answer.
 * @param error what the work threw
 */
export async function isAway(reader: Reader, error: unknown): Promise<boolean> {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    // An SQLite file answers the query below even then.
    if (cause instanceof DatabaseLockedError) return true;
  }
  return reader.rows('SELECT 1').then(
    () => false,
    () => true,
  );
}

/** When a change to a table was last committed. */
export interface LastCommit {
  /** In whole seconds, as a text to compare. */
  readonly time: string;
  readonly secondsAgo: number;
}

/** What a snapshot can read, and what it can learn of the present. */
export interface SnapshotReader extends Reader {
  /**
   * For each table of which the database knows it, the last commit that changed the table. Others can read
   * the changes a moment before or after that time. A server does not know it for a view, and for a table
   * that has not changed since the server started; SQLite never does.
   */
  lastCommits(tables: readonly string[]): Promise<ReadonlyMap<string, LastCommit>>;
}

export interface Writer extends Reader {
  /** @returns `changes`, the number of changed rows; `insertId`, the id of the row that an INSERT added */
  run(sql: string, parameters?: readonly Value[]): Promise<{ changes: number; insertId: number }>;
}

export interface Database extends Writer, SnapshotReader {
  readonly kind: 'mysql' | 'sqlite';
  /** Calls `read` with a reader that sees the database as it was at one moment. */
  snapshot<T>(read: (reader: SnapshotReader) => Promise<T>): Promise<T>;
  /**
   * Commits all of `work` or nothing. A transaction waits before it changes rows that another open
   * transaction has changed. The server may abort a transaction because of a deadlock. `work` is then
   * called again, so it must change nothing but the database.
   */
  transaction<T>(work: (writer: Writer) => Promise<T>): Promise<T>;
  /**
   * For each table or view that the user may see, the names of the columns that it may see; all names
   * are in lower case. A view that cannot be read may have no columns here.
   */
  columns(): Promise<Map<string, Set<string>>>;
  /**
   * A text that names the database and describes its tables and views. It is another one if a table was
   * created again or altered, or if the definition of a view was changed. The definitions that the user
   * may not see are not part of it; see `findHiddenViews`.
   */
  identity(): Promise<string>;
  /**
   * A text that becomes another one once another connection has committed a change to one of the tables;
   * a server may need up to three seconds for this if an earlier change was committed within the same
   * second. It costs the database almost nothing. Undefined if the database cannot tell: a server for
   * views.
   */
  changeMark(tables: readonly string[]): Promise<string | undefined>;
  /**
   * Whether a query finds its rows through an index: in SQLite by its plan, on a server by how many rows it reads. To
   * explain a query on a view, a server asks for rights on the tables below.
   */
  usesIndex(sql: string, parameters: readonly Value[]): Promise<boolean>;
  /**
   * Removes deleted content from the files of an SQLite database, unless another connection is using
   * them. Does nothing for a database server, which manages its own files.
   */
  eraseDeleted(): Promise<void>;
  close(): Promise<void>;
}
