/** Starts the product and its alternatives, each on the server's core. */
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { flagsOf } from '../../support/processes.ts';
import { freePort } from '../../support/servers/ports.ts';
import { nginxCommand } from './nginx.ts';
import { FILES, type Prepared, ROOT, SITE } from './prepare.ts';
import { type Core, startServer } from './process.ts';

export const SERVERS = {
  product: 'this product',
  nginx: 'nginx, static files',
  authRequest: 'nginx `auth_request` to Node, static files',
  fastify: 'fastify + @fastify/rate-limit, from memory',
  express: 'express + express-rate-limit + serve-static',
  live: 'fastify + mysql2, MariaDB live',
} as const;
export type ServerName = keyof typeof SERVERS;

export interface Server {
  readonly url: string;
  /** The ids of all its processes. */
  readonly pids: readonly number[];
}

export interface StartedServers {
  get(name: ServerName): Server;
  stop(): Promise<void>;
}

/** Starts the product. It starts first, because the alternatives serve copies of its bodies. */
export async function startProduct(
  { snapshotsDir }: Pick<Prepared, 'snapshotsDir'>,
  folder: string,
  core: Core,
  threads = 1,
) {
  const port = await freePort();
  const started = await startServer([...nodeCommand(), path.join(ROOT, 'proxy/main.ts')], {
    ...{ core, port, logFile: path.join(folder, 'product.log') },
    environment: {
      SNAPSHOTS_DIR: snapshotsDir,
      ...{ HOST: '127.0.0.1', PORT: String(port), ADMIN_PORT: '0', PROXY_THREADS: String(threads) },
      // The highest value, so that the measurement of 401 does not turn into 429.
      ADDRESS_RATE_LIMIT: '1000000',
    },
  });
  return { url: `http://127.0.0.1:${port}`, ...started };
}

/** Starts the alternatives one after the other. */
export async function startAlternatives(
  prepared: Prepared,
  folder: string,
  core: number,
): Promise<StartedServers> {
  const servers = new Map<ServerName, Server>();
  const stops: (() => Promise<void>)[] = [];
  const stop = async () => {
    for (const end of stops) await end();
  };
  const start = async (
    name: ServerName,
    toCommand: (port: number) => string[],
    otherPids: readonly number[] = [],
  ) => {
    const port = await freePort();
    const started = await startServer(toCommand(port), {
      ...{ core, port, logFile: path.join(folder, `${name}.log`) },
      environment: { ...environmentOf(prepared), PORT: String(port) },
    });
    stops.push(started.stop);
    servers.set(name, { url: `http://127.0.0.1:${port}`, pids: [started.pid, ...otherPids] });
    return started.pid;
  };
  const alternative = (name: string) => () => [
    ...nodeCommand(),
    path.join(import.meta.dirname, 'alternatives', `${name}.mjs`),
  ];
  try {
    const { filesDir, mariaDb } = prepared;
    await start('nginx', (port) => nginxCommand(path.join(folder, 'nginx'), filesDir, port));
    const socket = path.join(folder, 'checker.sock');
    const checkerPort = await freePort();
    const checker = await startServer(alternative('checker')(), {
      ...{ core, port: checkerPort, logFile: path.join(folder, 'checker.log') },
      environment: {
        ...environmentOf(prepared),
        ...{ PORT: String(checkerPort), BENCH_SOCKET: socket },
      },
    });
    stops.push(checker.stop);
    const authFolder = path.join(folder, 'auth-request');
    await start('authRequest', (port) => nginxCommand(authFolder, filesDir, port, socket), [
      checker.pid,
    ]);
    await start('fastify', alternative('fastify'));
    await start('express', alternative('express'));
    // Moves all of its threads. Threads that it starts later inherit the cores.
    execFileSync('taskset', ['-a', '-c', '-p', String(core), String(mariaDb.pid)]);
    await start('live', alternative('live'), [mariaDb.pid]);
  } catch (error) {
    await stop();
    throw error;
  }
  return { get: (name) => servers.get(name) as Server, stop };
}

function environmentOf(prepared: Prepared): Record<string, string> {
  return {
    NODE_ENV: 'production',
    BENCH_KEY: prepared.key,
    BENCH_FILES: prepared.filesDir,
    BENCH_TARGETS: prepared.targetsFile,
    BENCH_DATABASE: prepared.databaseUrl,
    BENCH_SITE: `${SITE}/en`,
    BENCH_FILES_URL: FILES,
  };
}

/** Node with the flags of `cover-catalogue proxy`, which may help the alternatives too. */
function nodeCommand(): string[] {
  return [process.execPath, ...flagsOf('proxy/main.ts')];
}
