/**
 * A private MariaDB server for tests: in a temporary folder, on loopback, ended by its process id.
 * It also ends when the process that started it dies, however that happens.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);
const START_SECONDS = 60;
const USER = 'catalogue';
/** Has every character that a database address must encode. */
const PASSWORD = 'p@ss:w/rd?#%';

export interface MariaDbAddress {
  readonly port: number;
  readonly socketPath: string;
  readonly pid: number;
  /** A `DATABASE_URL` of a user with all rights. */
  url(database: string): string;
  /** Makes an empty database. @returns its `DATABASE_URL` */
  createDatabase(database: string): Promise<string>;
  /** A command, with its arguments, that writes a dump of a database to stdout. */
  dumpCommand(database: string): [command: string, args: string[]];
}

export interface MariaDb extends MariaDbAddress {
  /** Ends the server and removes its files. */
  stop(): Promise<void>;
  /** Kills the server as a crash would; its files stay until `stop`. */
  kill(): Promise<void>;
  /** Stops and continues the process: a server that is there but says nothing. */
  freeze(): void;
  thaw(): void;
  /** Starts a killed server again, on the same files and port. */
  restart(): Promise<void>;
}

/** What is known of a running server wherever the plain values came from. */
export function mariaDbAt(server: {
  port: number;
  socketPath: string;
  pid: number;
}): MariaDbAddress {
  const { port, socketPath, pid } = server;
  const client = ['--no-defaults', `--socket=${socketPath}`, `--user=${USER}`];
  const login = [...client, `--password=${PASSWORD}`];
  const url = (database: string) =>
    `mysql://${USER}:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/${database}`;
  return {
    port,
    socketPath,
    pid,
    url,
    async createDatabase(database) {
      await run('mariadb', [
        ...login,
        '-e',
        `CREATE DATABASE \`${database}\` CHARACTER SET utf8mb4`,
      ]);
      return url(database);
    },
    // Over TCP, as the product connects.
    dumpCommand: (database) => [
      'mariadb-dump',
      [
        '--no-defaults',
        '--protocol=tcp',
        '--host=127.0.0.1',
        `--port=${port}`,
        `--user=${USER}`,
        `--password=${PASSWORD}`,
        '--single-transaction',
        database,
      ],
    ],
  };
}

/** Starts a server that is ready when the promise resolves. Takes a few seconds. */
export async function startMariaDb(): Promise<MariaDb> {
  const directory = await mkdtemp(join(tmpdir(), 'catalogue-mariadb-'));
  const data = join(directory, 'data');
  const socketPath = join(directory, 'server.sock');
  const log = join(directory, 'error.log');
  const init = join(directory, 'init.sql');
  const user = userInfo().username;
  await writeFile(
    init,
    `CREATE USER IF NOT EXISTS ${USER}@'%' IDENTIFIED BY '${PASSWORD}';\n` +
      `GRANT ALL ON *.* TO ${USER}@'%' WITH GRANT OPTION;\n`,
  );
  await run('mariadb-install-db', [
    '--no-defaults',
    `--datadir=${data}`,
    `--user=${user}`,
    '--auth-root-authentication-method=normal',
    '--skip-test-db',
    '--innodb-log-file-size=16M',
  ]);
  const port = await freePort();
  let child: ChildProcess;
  let pid = 0;

  async function start(): Promise<void> {
    // The shell ends the server when its stdin closes, which the death of this process does too. Ctrl-C
    // reaches all of the terminal's group: the shell must outlive it to do so.
    child = spawn(
      'sh',
      [
        '-c',
        'trap "" INT; "$@" </dev/null >/dev/null & server=$!; echo $server; cat >/dev/null; kill -9 $server 2>/dev/null; wait',
        'sh',
        'mariadbd',
        '--no-defaults',
        `--datadir=${data}`,
        `--user=${user}`,
        `--socket=${socketPath}`,
        `--pid-file=${join(directory, 'server.pid')}`,
        `--log-error=${log}`,
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
        '--max-connections=60',
      ],
      {
        stdio: ['pipe', 'pipe', 'ignore'],
        // Debian keeps the server where only root looks.
        env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` },
      },
    );
    pid = await new Promise<number>((resolve, reject) => {
      child.once('error', reject);
      child.stdout?.once('data', (line) => resolve(Number(String(line))));
    });
    await ready(socketPath, pid, log);
  }

  const end = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = new Promise((resolve) => child.once('exit', resolve));
    child.stdin?.end();
    await exited;
  };
  await start();
  return {
    ...mariaDbAt({ port, socketPath, pid }),
    get pid() {
      return pid;
    },
    kill: end,
    freeze: () => process.kill(pid, 'SIGSTOP'),
    thaw: () => process.kill(pid, 'SIGCONT'),
    restart: start,
    async stop() {
      await end();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function ready(socketPath: string, pid: number, log: string): Promise<void> {
  const start = performance.now();
  for (;;) {
    const isUp = await new Promise<boolean>((resolve) => {
      const socket = connect(socketPath, () => {
        socket.destroy();
        resolve(true);
      }).on('error', () => resolve(false));
    });
    if (isUp) return;
    const isLate = performance.now() - start > START_SECONDS * 1000;
    if (isLate || !isAlive(pid)) {
      const text = await readFile(log, 'utf8').catch(() => '');
      throw new Error(`MariaDB did not start:\n${text.slice(-2000)}`);
    }
    await sleep(50);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port was given');
  return address.port;
}
