/**
 * MySQL and MariaDB through mysql2: statements, snapshots and transactions.
 */
import type { PoolConnection } from 'mysql2';
import { messageOf } from '../program/failure.ts';
import type { Database, LastCommit, Reader, Row, Value, Writer } from './database.ts';
import { type MysqlAddress, openPool, type Pool } from './mysql-connections.ts';
import { discard, execute, isBroken } from './mysql-statement.ts';
import { viewHint } from './tables.ts';

const ER_LOCK_DEADLOCK = 1213;
const MOST_TRIES = 5;

/** Calls `use` with a connection and releases it afterwards. The Writer works only during the call. */
type Lend = <T>(use: (writer: Writer, connection: PoolConnection) => Promise<T>) => Promise<T>;

/** @throws Error of one line that names the wrong value and the fix */
export async function openMysql(address: MysqlAddress): Promise<Database> {
  const connections = openPool(address);
  const lend = makeLend(connections, address);
  const database: Database = {
    kind: 'mysql',
    rows: (sql, parameters) => lend((writer) => writer.rows(sql, parameters)),
    each: (sql, onRow) => lend((writer) => writer.each(sql, onRow)),
    run: (sql, parameters) =>
      retryAfterDeadlock(() => lend((writer) => writer.run(sql, parameters))),
    snapshot: (read) =>
      within(lend, ['START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY'], (reader: Reader) =>
        read({
          rows: reader.rows,
          each: reader.each,
          lastCommits: (tables) => lastCommitsOf(reader, tables),
        }),
      ),
    // READ COMMITTED: after waiting for a row, a SELECT reads what the other transaction wrote.
    transaction: (work) =>
      retryAfterDeadlock(() =>
        within(lend, ['SET TRANSACTION ISOLATION LEVEL READ COMMITTED', 'START TRANSACTION'], work),
      ),
    columns: () => columnsOf(database),
    identity: () => identityOf(database, connections.server, address.login.database),
    changeMark: (tables) => changeMarkOf(database, tables),
    usesIndex: (sql, parameters) => lend((writer) => readsFewRows(writer, sql, parameters)),
    lastCommits: (tables) => lastCommitsOf(database, tables),
    async eraseDeleted() {},
    close: connections.close,
  };
  try {
    connections.release(await connections.acquire());
  } catch (error) {
    await database.close();
    throw error;
  }
  return database;
}

function makeLend(connections: Pool, { login, stallSeconds }: MysqlAddress): Lend {
  const explain = (cause: Error) =>
    new Error(
      `query of ${login.database} on ${connections.server}: ${messageOf(cause)}${viewHint(cause)}`,
      { cause },
    );
  return async (use) => {
    const connection = await connections.acquire();
    let isOver = false;
    const run = async (
      sql: string,
      parameters: readonly Value[] = [],
      onRow: (row: Row) => void = () => {},
    ) => {
      if (isOver) throw new Error('This transaction or snapshot is over.');
      return execute(connection, sql, parameters, onRow, stallSeconds, explain);
    };
    const writer: Writer = {
      async rows(sql, parameters) {
        const rows: Row[] = [];
        await run(sql, parameters, (row) => rows.push(row));
        return rows;
      },
      async each(sql, onRow) {
        await run(sql, [], onRow);
      },
      run,
    };
    try {
      return await use(writer, connection);
    } finally {
      isOver = true;
      connections.release(connection);
    }
  };
}

/** Runs `work` in a transaction that the statements of `begin` start. */
function within<T>(
  lend: Lend,
  begin: readonly string[],
  work: (writer: Writer) => Promise<T>,
): Promise<T> {
  return lend(async (writer, connection) => {
    for (const sql of begin) await writer.run(sql);
    try {
      const result = await work(writer);
      await writer.run('COMMIT');
      return result;
    } catch (error) {
      if (!isBroken(connection)) await writer.run('ROLLBACK').catch(() => discard(connection));
      throw error;
    }
  });
}

/**
 * Runs a statement or a transaction again if the server aborted it because of a deadlock. The server has
 * then undone all of it.
 */
async function retryAfterDeadlock<T>(run: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await run();
    } catch (error) {
      const { errno } = Object((error as Error).cause) as { errno?: number };
      if (errno !== ER_LOCK_DEADLOCK || tries === MOST_TRIES) throw error;
    }
  }
}

async function columnsOf(database: Database): Promise<Map<string, Set<string>>> {
  // The programs use lower-case names. Whether these match a table with upper-case letters in its name
  // depends on a server setting; a table that they do not match is left out. Only information_schema.tables
  // has the tables without a column that the user may see, and broken views.
  const rows = await database.rows(
    `SELECT LOWER(t.table_name), LOWER(c.column_name) FROM information_schema.tables t
      LEFT JOIN information_schema.columns c
        ON c.table_schema = t.table_schema AND c.table_name = t.table_name
      WHERE t.table_schema = DATABASE() AND (@@lower_case_table_names > 0
        OR CAST(t.table_name AS BINARY) = CAST(LOWER(t.table_name) AS BINARY))`,
  );
  const columns = new Map<string, Set<string>>();
  for (const [table, column] of rows) {
    const known = columns.get(String(table)) ?? new Set();
    columns.set(String(table), column === null ? known : known.add(String(column)));
  }
  return columns;
}

async function identityOf(reader: Reader, server: string, name: string): Promise<string> {
  const parts = [
    `SELECT table_name, table_type, create_time FROM information_schema.tables
      WHERE table_schema = DATABASE() ORDER BY table_name`,
    `SELECT table_name, column_name, column_type, collation_name FROM information_schema.columns
      WHERE table_schema = DATABASE() ORDER BY table_name, ordinal_position`,
    // Empty if the user may not see how a view is defined; see `hidden-views.ts`.
    `SELECT table_name, view_definition FROM information_schema.views
      WHERE table_schema = DATABASE() ORDER BY table_name`,
  ];
  const rows: unknown[] = [];
  for (const sql of parts) rows.push(await reader.rows(sql));
  return JSON.stringify([server, name, rows]);
}

/**
 * What is read right after a commit may lack another commit of the same second. So the mark becomes another
 * one when the last commit is two seconds old.
 */
export async function changeMarkOf(
  reader: Pick<Reader, 'rows'>,
  tables: readonly string[],
): Promise<string | undefined> {
  const rows = await readCommitTimes(reader, tables);
  if (rows.length < tables.length) return undefined;
  return JSON.stringify(
    rows.map(([table, time, secondsAgo]) => [table, time, Number(secondsAgo) >= 2]),
  );
}

/** How many rows a query may read besides those that it returns, and how often it may read each of these. */
const MOST_OTHER_READS = 100;
const READS_PER_ROW = 3;

/** Whether a query reads only a few rows more than it returns. */
async function readsFewRows(
  { rows }: Reader,
  sql: string,
  parameters: readonly Value[],
): Promise<boolean> {
  const countReads = async () => {
    let reads = 0;
    for (const [, count] of await rows("SHOW SESSION STATUS LIKE 'Handler_read%'"))
      reads += Number(count);
    return reads;
  };
  // To ask for the counts reads rows, too.
  const [first, before] = [await countReads(), await countReads()];
  const found = await rows(sql, parameters);
  const reads = (await countReads()) - before - (before - first);
  return reads <= found.length * READS_PER_ROW + MOST_OTHER_READS;
}

async function lastCommitsOf(
  reader: Reader,
  tables: readonly string[],
): Promise<Map<string, LastCommit>> {
  const rows = await readCommitTimes(reader, tables);
  return new Map(
    rows
      .filter(([, time]) => time !== null)
      .map(([table, time, secondsAgo]) => [
        String(table).toLowerCase(),
        { time: String(time), secondsAgo: Number(secondsAgo) },
      ]),
  );
}

/**
 * InnoDB records when a change to a table was last committed, in whole seconds. The time is NULL until the
 * first change after a start of the server. Of a partitioned table, the server may forget the latest time
 * and return that of another partition.
 * @returns names, times and seconds since then; no row for what is not an InnoDB table
 */
function readCommitTimes(
  { rows }: Pick<Reader, 'rows'>,
  tables: readonly string[],
): Promise<Row[]> {
  return rows(
    `SELECT table_name, update_time, TIMESTAMPDIFF(SECOND, update_time, NOW())
      FROM information_schema.tables
      WHERE table_schema = DATABASE() AND engine = 'InnoDB'
        AND create_options NOT LIKE '%partitioned%'
        AND table_name IN (${tables.map(() => '?').join(', ')}) ORDER BY table_name`,
    tables,
  );
}
