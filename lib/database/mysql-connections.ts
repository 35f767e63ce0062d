/**
 * The connections to one MySQL or MariaDB server. Every session starts with the same settings (UTC,
 * utf8mb4, one SQL mode), so that a statement means the same on every server and on SQLite.
 */
import { promisify } from 'node:util';
import { createPool, type PoolConnection } from 'mysql2';
import { messageOf } from '../program/failure.ts';
import { MOST_CONNECTIONS } from './database.ts';
import { discard, execute, isBroken, socketOf } from './mysql-statement.ts';
import type { MysqlAddress } from './open.ts';

const CLOSE_SECONDS = 2;

const SESSION = [
  'SET NAMES utf8mb4',
  // ANSI_QUOTES and PIPES_AS_CONCAT: quotes and || mean the same as on SQLite. STRICT_ALL_TABLES: a
  // value that does not fit is an error instead of being cut. NO_BACKSLASH_ESCAPES is not set, because
  // mysql2 escapes parameters with backslashes.
  "SET SESSION sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT,STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'",
  // MySQL 8 would show times of information_schema that are up to a day old. MariaDB skips the comment. The
  // server must not close the connection of a reader that computes for minutes between two reads.
  `SET /*!80000 SESSION information_schema_stats_expiry = 0, */ SESSION time_zone = '+00:00',
    SESSION net_write_timeout = 3600, SESSION wait_timeout = 28800`,
  'SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ',
];

export type Pool = ReturnType<typeof openPool>;

export function openPool({ login, stallSeconds }: MysqlAddress) {
  const { socketPath, host, port, user, database: name } = login;
  const server = socketPath ?? `${host}:${port}`;
  const pool = createPool({
    ...login,
    supportBigNumbers: true,
    dateStrings: true,
    jsonStrings: true,
    connectionLimit: MOST_CONNECTIONS,
    keepAliveInitialDelay: 10_000,
  });
  const open = new Set<PoolConnection>();
  const ready = new WeakSet<PoolConnection>();
  pool.on('connection', (connection: PoolConnection) => {
    open.add(connection);
    socketOf(connection).once('close', () => open.delete(connection));
  });
  const getConnection = promisify(pool.getConnection).bind(pool);

  return {
    /** The host and port, or the socket, of the server; used in messages. */
    server,
    /**
     * @returns a connection whose session has its settings; the caller must release it
     * @throws Error of one line that names the wrong value and the fix
     */
    async acquire(): Promise<PoolConnection> {
      const connection = await getConnection().catch((cause) => {
        throw new Error(explain(cause, server, user, name), { cause });
      });
      if (ready.has(connection)) return connection;
      const explainSession = (cause: Error) =>
        new Error(`prepare a session on ${server}: ${messageOf(cause)}`, { cause });
      try {
        for (const sql of SESSION) {
          await execute(connection, sql, [], () => {}, stallSeconds, explainSession);
        }
      } catch (error) {
        discard(connection);
        throw error;
      }
      ready.add(connection);
      return connection;
    },
    release(connection: PoolConnection) {
      if (isBroken(connection)) discard(connection);
      else connection.release();
    },
    async close() {
      await new Promise<void>((resolve) => {
        setTimeout(resolve, CLOSE_SECONDS * 1000).unref();
        pool.end(() => resolve());
      });
      for (const connection of open) discard(connection);
    },
  };
}

function explain(error: { code?: string }, server: string, user: string, name: string): string {
  switch (error.code) {
    case 'ER_ACCESS_DENIED_ERROR':
    case 'ER_ACCESS_DENIED_NO_PASSWORD_ERROR':
      return `The database server at ${server} refuses the user "${user}" or its password: fix them in DATABASE_URL (special characters percent-encoded). If both are right, the server may have an anonymous user, which hides '${user}'@'%' from its own machine: DROP USER ''@'localhost'.`;
    case 'ER_DBACCESS_DENIED_ERROR':
      return `The user "${user}" has no rights on the database "${name}" at ${server}, or it does not exist: GRANT them or fix DATABASE_URL.`;
    case 'ER_BAD_DB_ERROR':
      return `There is no database "${name}" at ${server}: create it or fix its name in DATABASE_URL.`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `The host of the database server, ${server}, cannot be found: fix it in DATABASE_URL.`;
    case 'ECONNREFUSED':
    case 'ENOENT':
      return `No database server listens at ${server}: start it or fix host and port in DATABASE_URL.`;
    case 'HANDSHAKE_NO_SSL_SUPPORT':
      return `The database server at ${server} does not offer TLS: set it up there, or remove ssl=true from DATABASE_URL.`;
    case 'ETIMEDOUT':
      return `The database server at ${server} does not answer: is it running, and does a firewall block it?`;
    default:
      return `connect to the database server at ${server}: ${messageOf(error)}`;
  }
}
