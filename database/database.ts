/**
 * The interface to a database: the same calls and the same SQL on MySQL, MariaDB and the embedded
 * SQLite. The generator reads the catalogue through it, `keys/` reads and writes its own tables.
 */

/** How many connections to its server an open database has at most. */
export const MOST_CONNECTIONS = 10;

/**
 * A value of a row. Integers beyond 2^53 come as decimal strings, smaller ones as numbers; times as
 * "YYYY-MM-DD HH:MM:SS" in UTC; a zero date as the database stores it ("0000-00-00 00:00:00").
 */
export type Value = string | number | null;
export type Row = readonly Value[];

export interface Reader {
  /** Every row of a small result, in the columns' order. */
  rows(sql: string, parameters?: readonly Value[]): Promise<Row[]>;
  /**
   * Calls `onRow` with each row of a large result as it arrives, so that memory stays flat.
   * @returns how many rows came
   * @throws Error when the connection or the query dies in mid-stream; it never hangs. An error
   * that `onRow` throws ends the stream and is thrown unchanged.
   */
  each(sql: string, onRow: (row: Row) => void): Promise<number>;
}

export interface Writer extends Reader {
  /** @returns how many rows changed, and the id that an INSERT made */
  run(sql: string, parameters?: readonly Value[]): Promise<{ changes: number; insertId: number }>;
}

export interface Database extends Writer {
  readonly kind: 'mysql' | 'sqlite';
  /** Calls `read` with a reader that sees the database as it was at one moment. */
  snapshot<T>(read: (reader: Reader) => Promise<T>): Promise<T>;
  /**
   * Commits all of `work` or nothing. Of two transactions, one waits for the rows that the other has
   * changed. `work` is called again if the server aborts the transaction for another one, so it must
   * change nothing but the database.
   */
  transaction<T>(work: (writer: Writer) => Promise<T>): Promise<T>;
  /** The columns of each table or view, all in lower case. */
  columns(): Promise<Map<string, Set<string>>>;
  /**
   * Removes deleted content from the database's files, too, unless another connection is using them.
   * Does nothing on a server, whose files belong to it.
   */
  eraseDeleted(): Promise<void>;
  close(): Promise<void>;
}
