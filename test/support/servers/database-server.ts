/**
 * A private database server for tests, in a temporary folder and on loopback: MariaDB, or MySQL with
 * `TEST_DATABASE=mysql` (see CONTRIBUTING.md). It ends at the latest with the process that started it, even if
 * that process is killed.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { openDatabase } from '#lib/database/open.ts';
import { startTiedUntil, type TiedServer } from '#test/support/processes.ts';
import { makeCertificate } from './certificate.ts';
import { freePort } from './ports.ts';

const run = promisify(execFile);
const USER = 'catalogue';
/** Contains every character that a database address must encode. */
const PASSWORD = 'p@ss:w/rd?#%';
/** Creates the user with all rights, also on a server that has started before. */
const CREATE_USER = [
  `CREATE USER IF NOT EXISTS ${USER}@'%' IDENTIFIED BY '${PASSWORD}'`,
  `GRANT ALL ON *.* TO ${USER}@'%' WITH GRANT OPTION`,
];

/** By its product, what prepares a server in an empty folder, and gives what starts it there. */
const PREPARE = { mariadb: prepareMariaDb, mysql: prepareMysql };
type Prepare = (directory: string, port: number) => Promise<() => Promise<TiedServer>>;

export type DatabaseServer = Awaited<ReturnType<typeof startDatabaseServer>>;

/** What tests do with a running server, also in other processes than the one that started it. */
export function databaseServerAt(port: number) {
  const url = (database: string) =>
    `mysql://${USER}:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/${database}`;
  return {
    port,
    /** The `DATABASE_URL` for a user with all rights. */
    url,
    /** Creates an empty database. @returns its `DATABASE_URL` */
    async createDatabase(database: string) {
      await runAll(url('mysql'), `CREATE DATABASE \`${database}\` CHARACTER SET utf8mb4`);
      return url(database);
    },
    /** A command, with its arguments, that writes a dump to stdout. Over TCP, as the product connects. */
    dumpCommand: (database: string): [command: string, args: string[]] => [
      'mariadb-dump',
      [
        ...['--no-defaults', '--protocol=tcp', '--host=127.0.0.1', `--port=${port}`],
        ...[`--user=${USER}`, `--password=${PASSWORD}`, '--single-transaction', database],
      ],
    ],
  };
}

/** Starts a server, which is ready when the promise resolves. This takes a few seconds. */
export async function startDatabaseServer(product = process.env.TEST_DATABASE ?? 'mariadb') {
  const prepare = PREPARE[product as keyof typeof PREPARE] as Prepare | undefined;
  if (!prepare) throw new Error(`TEST_DATABASE is "${product}", not "mysql" or "mariadb".`);
  const directory = await mkdtemp(join(tmpdir(), `catalogue-${product}-`));
  const port = await freePort();
  const start = await prepare(directory, port);
  let server = await start();
  return {
    ...databaseServerAt(port),
    pid: server.pid,
    /** Kills the server as a crash would. Its files stay until `stop`. */
    kill: () => server.stop(),
    /** Restarts a killed server on the same files and port. */
    async restart() {
      server = await start();
    },
    /** Ends the server and removes its files. */
    async stop() {
      await server.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function prepareMariaDb(directory: string, port: number) {
  const data = join(directory, 'data');
  const init = join(directory, 'init.sql');
  const user = userInfo().username;
  // A server that starts removes the temporary tables of all servers from its folder for them.
  const temporary = `--tmpdir=${directory}`;
  const [certificate, key] = [join(directory, 'server.pem'), join(directory, 'server.key')];
  await writeFile(init, `${CREATE_USER.join(';\n')};\n`);
  await makeCertificate('database.test', certificate, key);
  await run('mariadb-install-db', [
    '--no-defaults',
    `--datadir=${data}`,
    temporary,
    `--user=${user}`,
    '--auth-root-authentication-method=normal',
    '--skip-test-db',
    '--innodb-log-file-size=16M',
  ]);
  return () =>
    startTiedUntil(
      'ready for connections',
      [
        'mariadbd',
        '--no-defaults',
        `--datadir=${data}`,
        temporary,
        `--user=${user}`,
        `--socket=${join(directory, 'server.sock')}`,
        `--pid-file=${join(directory, 'server.pid')}`,
        `--init-file=${init}`,
        `--port=${port}`,
        `--ssl-cert=${certificate}`,
        `--ssl-key=${key}`,
        '--bind-address=127.0.0.1',
        '--skip-name-resolve',
        '--character-set-server=utf8mb4',
        '--performance-schema=off',
        '--key-buffer-size=1M',
        '--aria-pagecache-buffer-size=8M',
        '--innodb-log-file-size=64M',
        '--innodb-flush-log-at-trx-commit=2',
        '--innodb-doublewrite=0',
        '--max-connections=100',
      ],
      { signal: 'KILL' },
    );
}

/**
 * The variable MYSQLD names a program that starts MySQL, because Debian 12 has no package of it: called with a
 * folder and a port, it prints the address of an administrator and becomes the server.
 */
async function prepareMysql(directory: string, port: number) {
  const { MYSQLD } = process.env;
  if (MYSQLD === undefined) throw new Error('TEST_DATABASE=mysql needs MYSQLD: CONTRIBUTING.md.');
  return async () => {
    const command = [MYSQLD, directory, String(port)];
    const server = await startTiedUntil('mysql://', command, { signal: 'KILL' });
    for (let tries = 1; ; tries++) {
      try {
        await runAll(server.line, ...CREATE_USER);
        return server;
      } catch (error) {
        // It listens some seconds after it has printed the address.
        if (tries === 600) throw error;
        await pause(100);
      }
    }
  };
}

async function runAll(url: string, ...statements: string[]): Promise<void> {
  const database = await openDatabase(url);
  for (const sql of statements) await database.run(sql);
  await database.close();
}
