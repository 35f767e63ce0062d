/**
 * The one way to a catalogue database: the same calls and the same SQL on MySQL, MariaDB and the
 * embedded SQLite. The generator reads through it, `keys/` reads and writes `api_keys`.
 */

/** How many connections to its server an open database has at most. */
export const MOST_CONNECTIONS = 10;

import type { RowView } from './row-view.ts';

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
   * Hands each row of a large result to `onRow` as it arrives, which is done with it when it returns;
   * memory stays flat.
   * @returns how many rows came
   * @throws Error when the connection or the query dies in mid-stream; it never hangs. An error
   * thrown by `onRow` ends the stream and comes out as it is.
   */
  each(sql: string, onRow: (row: RowView) => void): Promise<number>;
}

export interface Writer extends Reader {
  /** @returns how many rows changed, and the id that an INSERT made */
  run(sql: string, parameters?: readonly Value[]): Promise<{ changes: number; insertId: number }>;
}

export interface Database extends Writer {
  readonly kind: 'mysql' | 'sqlite';
  /** Everything `read` sees is of one moment. */
  snapshot<T>(read: (reader: Reader) => Promise<T>): Promise<T>;
  /**
   * All of `work` or nothing; two at once take turns on the rows they touch. It is done anew where
   * the server gave it up for another, so it must change nothing but the database.
   */
  transaction<T>(work: (writer: Writer) => Promise<T>): Promise<T>;
  /** The columns of each table or view, all in lower case. */
  columns(): Promise<Map<string, Set<string>>>;
  /**
   * Removes deleted content from the database's files, too, as far as no other connection is reading
   * them. Does nothing on a server, whose files are not ours.
   */
  eraseDeleted(): Promise<void>;
  close(): Promise<void>;
}
