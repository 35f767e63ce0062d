/**
 * MySQL and MariaDB through mysql2. Every session is set to the same ground first (UTC, utf8mb4,
 * one SQL mode), so that a statement means the same on every server and on SQLite.
 */
import { createPool, type PoolConnection } from 'mysql2';
import { viewHint } from './broken-views.ts';
import {
  type Database,
  MOST_CONNECTIONS,
  type Reader,
  type Row,
  type Value,
  type Writer,
} from './database.ts';
import { discard, execute, isBroken } from './mysql-query.ts';
import type { MysqlAddress } from './open.ts';
import type { RowView } from './row-view.ts';

const CLOSE_SECONDS = 2;

const SESSION = [
  'SET NAMES utf8mb4',
  // ANSI_QUOTES and PIPES_AS_CONCAT: quotes and || mean what they mean on SQLite. Strict: a value
  // that does not fit is an error, not cut. Backslash escapes, which mysql2 writes, stay on.
  "SET SESSION sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT,STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'",
  "SET SESSION time_zone = '+00:00'",
  // A reader that sorts for minutes between two reads must not lose its connection.
  'SET SESSION net_write_timeout = 3600',
  'SET SESSION wait_timeout = 28800',
  'SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ',
];

interface Patience {
  readonly stallSeconds: number;
  readonly connectSeconds: number;
}

/** ER_LOCK_DEADLOCK. */
const DEADLOCK = 1213;
const MOST_TRIES = 5;

/** What lost a deadlock, a statement by itself or a transaction, was undone as a whole: it is tried anew. */
async function againAfterDeadlock<T>(run: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await run();
    } catch (error) {
      const { errno } = Object((error as Error).cause) as { errno?: number };
      if (errno !== DEADLOCK || tries === MOST_TRIES) throw error;
    }
  }
}

/** @throws Error of one line that names the value that is wrong and the cure */
export async function openMysql(address: MysqlAddress, patience: Patience): Promise<Database> {
  const { host, port, user, password, name, tls, socketPath } = address;
  const place = socketPath ?? `${host}:${port}`;
  const pool = createPool({
    ...(socketPath === undefined ? { host, port } : { socketPath }),
    user,
    password,
    database: name,
    ...(tls ? { ssl: { verifyIdentity: true } } : {}),
    charset: 'UTF8MB4_GENERAL_CI',
    timezone: 'Z',
    supportBigNumbers: true,
    dateStrings: true,
    jsonStrings: true,
    connectTimeout: patience.connectSeconds * 1000,
    connectionLimit: MOST_CONNECTIONS,
    enableKeepAlive: true,
    keepAliveInitialDelay: 10_000,
  });
  const open = new Set<PoolConnection>();
  const ready = new WeakSet<PoolConnection>();
  pool.on('connection', (connection: PoolConnection) => open.add(connection));

  const query = (connection: PoolConnection, sql: string, parameters: readonly Value[] = []) =>
    execute(connection, sql, parameters, () => {}, patience.stallSeconds);

  async function acquire(): Promise<PoolConnection> {
    const connection = await new Promise<PoolConnection>((resolve, reject) => {
      pool.getConnection((error, got) => (error ? reject(error) : resolve(got)));
    }).catch((cause) => {
      throw new Error(explain(cause, place, user, name), { cause });
    });
    if (ready.has(connection)) return connection;
    try {
      for (const sql of SESSION) await query(connection, sql);
    } catch (cause) {
      discard(connection);
      throw new Error(`prepare a session on ${place}: ${messageOf(cause)}`, { cause });
    }
    ready.add(connection);
    return connection;
  }

  function release(connection: PoolConnection): void {
    for (const known of open) if (isBroken(known)) open.delete(known);
    if (isBroken(connection)) discard(connection);
    else connection.release();
  }

  /** Lends a connection to `use`, then takes it back; the Writer is of no use afterwards. */
  async function lend<T>(use: (writer: Writer, connection: PoolConnection) => Promise<T>) {
    const connection = await acquire();
    let isOver = false;
    const run = async (
      sql: string,
      parameters: readonly Value[],
      onRow: (row: RowView) => void,
    ) => {
      if (isOver) throw new Error('This transaction or snapshot is over.');
      let thrown: { error: unknown } | undefined;
      try {
        return await execute(connection, sql, parameters, guarded, patience.stallSeconds);
      } catch (cause) {
        if (thrown) throw thrown.error;
        throw new Error(`query of ${name} on ${place}: ${messageOf(cause)}${viewHint(cause)}`, {
          cause,
        });
      }
      function guarded(row: RowView): void {
        try {
          onRow(row);
        } catch (error) {
          thrown = { error };
          throw error;
        }
      }
    };
    try {
      return await use(
        {
          async rows(sql, parameters = []) {
            const rows: Row[] = [];
            await run(sql, parameters, (row) => rows.push(row.values()));
            return rows;
          },
          each: async (sql, onRow) => (await run(sql, [], onRow)).rows,
          async run(sql, parameters = []) {
            const { changes, insertId } = await run(sql, parameters, () => {});
            return { changes, insertId };
          },
        },
        connection,
      );
    } finally {
      isOver = true;
      release(connection);
    }
  }

  async function within<T>(begin: string[], work: (writer: Writer) => Promise<T>): Promise<T> {
    return lend(async (writer, connection) => {
      for (const sql of begin) await writer.run(sql);
      try {
        const result = await work(writer);
        await writer.run('COMMIT');
        return result;
      } catch (error) {
        if (!isBroken(connection))
          await query(connection, 'ROLLBACK').catch(() => discard(connection));
        throw error;
      }
    });
  }

  const database: Database = {
    kind: 'mysql',
    rows: (sql, parameters) => lend((writer) => writer.rows(sql, parameters)),
    each: (sql, onRow) => lend((writer) => writer.each(sql, onRow)),
    run: (sql, parameters) =>
      againAfterDeadlock(() => lend((writer) => writer.run(sql, parameters))),
    snapshot: (read) =>
      within(['START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY'], ({ rows, each }: Reader) =>
        read({ rows, each }),
      ),
    // READ COMMITTED: after waiting for another's row, a SELECT sees what the other wrote.
    transaction: (work) =>
      againAfterDeadlock(() =>
        within(['SET TRANSACTION ISOLATION LEVEL READ COMMITTED', 'START TRANSACTION'], work),
      ),
    async columns() {
      // A table must answer to its lower-case name, which is a question of the server's settings.
      const rows = await database.rows(
        `SELECT table_name, column_name FROM information_schema.columns
         WHERE table_schema = DATABASE()
           AND (@@lower_case_table_names > 0 OR CAST(table_name AS BINARY) = CAST(LOWER(table_name) AS BINARY))`,
      );
      const columns = new Map<string, Set<string>>();
      for (const [table, column] of rows) {
        const key = String(table).toLowerCase();
        const known = columns.get(key) ?? new Set();
        columns.set(key, known.add(String(column).toLowerCase()));
      }
      return columns;
    },
    async eraseDeleted() {},
    async close() {
      const ended = new Promise<void>((resolve) => {
        setTimeout(resolve, CLOSE_SECONDS * 1000).unref();
        pool.end(() => resolve());
      });
      await ended;
      for (const connection of open) discard(connection);
    },
  };

  try {
    release(await acquire());
  } catch (error) {
    await database.close();
    throw error;
  }
  return database;
}

function explain(error: { code?: string }, place: string, user: string, name: string): string {
  switch (error.code) {
    case 'ER_ACCESS_DENIED_ERROR':
    case 'ER_ACCESS_DENIED_NO_PASSWORD_ERROR':
      return `The database server at ${place} refuses the user "${user}" or its password: mend them in DATABASE_URL (special characters percent-encoded).`;
    case 'ER_DBACCESS_DENIED_ERROR':
      return `The user "${user}" has no rights on the database "${name}" at ${place}, or it does not exist: GRANT them or mend DATABASE_URL.`;
    case 'ER_BAD_DB_ERROR':
      return `There is no database "${name}" at ${place}: create it or mend its name in DATABASE_URL.`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `The host of the database server, ${place}, cannot be found: mend it in DATABASE_URL.`;
    case 'ECONNREFUSED':
    case 'ENOENT':
      return `No database server listens at ${place}: start it or mend host and port in DATABASE_URL.`;
    case 'HANDSHAKE_NO_SSL_SUPPORT':
      return `The database server at ${place} does not offer TLS: set it up there, or remove ssl=true from DATABASE_URL.`;
    case 'ETIMEDOUT':
      return `The database server at ${place} does not answer: is it running, and does a firewall let us through?`;
    default:
      return `connect to the database server at ${place}: ${messageOf(error)}`;
  }
}

function messageOf(error: unknown): string {
  const { message, code } = error as { message?: string; code?: string };
  return message || code || String(error);
}
