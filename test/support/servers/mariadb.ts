/**
 * A private MariaDB server for tests, in a temporary folder and on loopback. It ends at the latest with
 * the process that started it, even if that process is killed.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startTiedUntil } from '#test/support/processes.ts';
import { freePort } from './ports.ts';

const run = promisify(execFile);
const USER = 'catalogue';
/** Contains every character that a database address must encode. */
const PASSWORD = 'p@ss:w/rd?#%';

export type MariaDb = Awaited<ReturnType<typeof startMariaDb>>;

/** Describes a running server by values that can be passed between processes. */
export function mariaDbAt(server: { port: number; socketPath: string; pid: number }) {
  const { port, socketPath, pid } = server;
  const client = ['--no-defaults', `--socket=${socketPath}`, `--user=${USER}`];
  const login = [...client, `--password=${PASSWORD}`];
  const url = (database: string) =>
    `mysql://${USER}:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/${database}`;
  return {
    port,
    socketPath,
    pid,
    /** The `DATABASE_URL` for a user with all rights. */
    url,
    /** Creates an empty database. @returns its `DATABASE_URL` */
    async createDatabase(database: string) {
      const create = `CREATE DATABASE \`${database}\` CHARACTER SET utf8mb4`;
      await run('mariadb', [...login, '-e', create]);
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
export async function startMariaDb() {
  const directory = await mkdtemp(join(tmpdir(), 'catalogue-mariadb-'));
  const data = join(directory, 'data');
  const socketPath = join(directory, 'server.sock');
  const init = join(directory, 'init.sql');
  const user = userInfo().username;
  // A server that starts removes the temporary tables of all servers from its folder for them.
  const temporary = `--tmpdir=${directory}`;
  await writeFile(
    init,
    `CREATE USER ${USER}@'%' IDENTIFIED BY '${PASSWORD}';\n` +
      `GRANT ALL ON *.* TO ${USER}@'%' WITH GRANT OPTION;\n`,
  );
  await run('mariadb-install-db', [
    '--no-defaults',
    `--datadir=${data}`,
    temporary,
    `--user=${user}`,
    '--auth-root-authentication-method=normal',
    '--skip-test-db',
    '--innodb-log-file-size=16M',
  ]);
  const port = await freePort();

  const server = await startTiedUntil(
    'ready for connections',
    [
      'mariadbd',
      '--no-defaults',
      `--datadir=${data}`,
      temporary,
      `--user=${user}`,
      `--socket=${socketPath}`,
      `--pid-file=${join(directory, 'server.pid')}`,
      `--init-file=${init}`,
      `--port=${port}`,
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
  return {
    ...mariaDbAt({ port, socketPath, pid: server.pid }),
    /** Ends the server and removes its files. */
    async stop() {
      await server.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
