/**
 * The connections to one MySQL or MariaDB server. Every session starts with the same settings, so that a
 * statement means the same on every server and on SQLite, and sees what others have committed.
 */
import { promisify } from 'node:util';
import { createPool, type PoolConnection, type PoolOptions } from 'mysql2';
import { messageOf } from '../program/failure.ts';
import { MOST_CONNECTIONS } from './database.ts';
import { discard, execute, isBroken, socketOf } from './mysql-statement.ts';

const CLOSE_SECONDS = 2;

export interface MysqlAddress {
  /** What mysql2 needs to know to connect. */
  readonly login: PoolOptions & { readonly user: string; readonly database: string };
  readonly stallSeconds: number;
}

/**
 * What every session sets first. The defaults of a server and its init_connect belong to somebody else: they
 * must not decide what is read, nor whether it is read at all. MariaDB skips a comment that begins with /*!80000,
 * and MySQL one that begins with /*M!.
 */
const SESSION = [
  // init_connect may have begun a transaction, which would show one moment for ever. This ends it, and begins no
  // other, whatever completion_type is.
  'ROLLBACK AND NO CHAIN NO RELEASE',
  'SET NAMES utf8mb4',
  // ANSI_QUOTES and PIPES_AS_CONCAT: quotes and || mean the same as on SQLite. STRICT_ALL_TABLES: a
  // value that does not fit is an error instead of being cut. NO_BACKSLASH_ESCAPES is not set, because
  // mysql2 escapes parameters with backslashes.
  "SET sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT,STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'",
  // Without autocommit, the first SELECT would begin such a transaction, and a COMMIT with completion_type CHAIN.
  "SET autocommit = 1, completion_type = 'NO_CHAIN', time_zone = '+00:00', timestamp = DEFAULT",
  'SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ WRITE',
  // Views may use GROUP_CONCAT, which cuts. With sql_auto_is_null, IS NULL finds the row that was added last.
  `SET sql_select_limit = 18446744073709551615, sql_big_selects = 1, sql_safe_updates = 0,
    sql_auto_is_null = 0, group_concat_max_len = 1048576
    /*M! , system_versioning_asof = DEFAULT */`,
  // The server must not end the query or the connection of a reader that computes for minutes between two reads.
  // MySQL 8 would show times of information_schema that are up to a day old.
  `SET net_write_timeout = 3600, wait_timeout = 28800
    /*!80000 , max_execution_time = 0, information_schema_stats_expiry = 0 */
    /*M! , max_statement_time = 0, idle_transaction_timeout = 0, idle_readonly_transaction_timeout = 0,
    idle_write_transaction_timeout = 0 */`,
];

export type Pool = ReturnType<typeof openPool>;

export function openPool({ login, stallSeconds }: MysqlAddress) {
  const { socketPath, host, port } = login;
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
        throw new Error(explain(cause, server, login), { cause });
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

function explain(
  error: { code?: string },
  server: string,
  { user, database, ssl, socketPath }: MysqlAddress['login'],
): string {
  switch (error.code) {
    case 'ER_ACCESS_DENIED_ERROR':
    case 'ER_ACCESS_DENIED_NO_PASSWORD_ERROR': {
      // A user that must use TLS gets the same error as one with a wrong password; so do all users of a MariaDB
      // that demands TLS.
      const isPlain = ssl === undefined && socketPath === undefined;
      const tls = isPlain ? 'the server may demand TLS: append ?ssl=true to DATABASE_URL. Or ' : '';
      return `The database server at ${server} refuses the user "${user}" or its password: fix them in DATABASE_URL (special characters percent-encoded). If both are right, ${tls}the server may have an anonymous user, which hides '${user}'@'%' from its own machine: DROP USER ''@'localhost'.`;
    }
    case 'ER_SECURE_TRANSPORT_REQUIRED':
      return `The database server at ${server} demands TLS: append ?ssl=true to DATABASE_URL.`;
    case 'HANDSHAKE_SSL_ERROR':
      return `The certificate of the database server at ${server} is not trusted (${messageOf(error)}): DATABASE_URL must have the host that it is for, and the variable NODE_EXTRA_CA_CERTS the file of an own authority. Set that in the environment: .env is read too late.`;
    case 'ER_DBACCESS_DENIED_ERROR':
      return `The user "${user}" has no rights on the database "${database}" at ${server}, or it does not exist: GRANT them or fix DATABASE_URL.`;
    case 'ER_BAD_DB_ERROR':
      return `There is no database "${database}" at ${server}: create it or fix its name in DATABASE_URL.`;
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
