/** Starts the servers that are compared, each on the same core. They end with this process, however it ends. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import path from 'node:path';
import { startTiedUntil, type Texts } from '../support/processes.ts';
import { freePort } from '../support/servers/ports.ts';
import { lazily } from './figures.ts';
import type { Place, Prepared } from './prepare.ts';
import { chooseCores, memoryOf } from './processes.ts';

export interface Server {
  readonly url: string;
  /** Its processes, without their descendants. */
  readonly pids: readonly number[];
  /** How long it took from its start until it listened, in seconds, and its memory then, in megabytes. */
  readonly loading: { readonly load: number; readonly loaded: number };
}

/**
 * @param ready a part of the line that it prints when it listens
 * @param toUrl makes its address of that line
 */
async function startServer(
  { folder, atEnd }: Place,
  command: readonly string[],
  environment: Texts,
  ready: string,
  toUrl: (line: string) => string,
): Promise<Server> {
  const started = performance.now();
  // Not in the checkout, where a developer's .env would be read.
  const place = ['env', '-C', folder, 'taskset', '-c', String(chooseCores().server)];
  const server = await startTiedUntil(ready, [...place, ...command], { environment });
  atEnd(server.stop);
  const load = (performance.now() - started) / 1000;
  const pids = [server.pid];
  return { url: toUrl(server.line), pids, loading: { load, loaded: memoryOf(pids, 'VmRSS') } };
}

/** By name, how to start each server. */
export type Starts = Readonly<Record<string, () => Promise<Server>>>;

/** How to start the proxy of each checkout, on the generation that this checkout has made. */
export function productStarts(prepared: Place & Pick<Prepared, 'products'>): Starts {
  const starts = prepared.products.map(({ name, root, snapshots }) => {
    const start = async () => {
      const environment = {
        SNAPSHOTS_DIR: await snapshots(),
        ...{ HOST: '127.0.0.1', PORT: '0', ADMIN_PORT: '0', PROXY_THREADS: '1' },
      };
      const command = [path.join(root, 'bin/cover-catalogue'), 'proxy'];
      const toUrl = (line: string) => `http://${JSON.parse(line).api}`;
      return startServer(prepared, command, environment, '"msg":"listening"', toUrl);
    };
    return [name, lazily(start)];
  });
  return Object.fromEntries(starts);
}

/** Starts a program of the folder `alternatives`. */
export function startAlternative(
  prepared: Prepared,
  [file, ...words]: readonly [string, ...string[]],
  environment: Texts = {},
): Promise<Server> {
  const program = path.join(import.meta.dirname, 'alternatives', file);
  return startServer(
    prepared,
    [process.execPath, program, ...words],
    { NODE_ENV: 'production', BENCH_KEYS: prepared.keys.join(), ...environment },
    'listening on ',
    (line) => line.slice('listening on '.length),
  );
}

/**
 * Starts nginx on static files, with all that makes it fast, one worker, no logs, and no check of keys: the
 * least that a response can cost.
 */
export async function startNginx(prepared: Prepared, files: string): Promise<Server> {
  const folder = path.join(prepared.folder, 'nginx');
  mkdirSync(folder);
  const port = await freePort();
  const configuration = path.join(folder, 'nginx.conf');
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  writeFileSync(
    configuration,
    `${process.getuid?.() === 0 ? `user ${userInfo().username};` : ''}
worker_processes 1;
worker_rlimit_nofile 20000;
pid ${folder}/nginx.pid;
events {
	worker_connections 512;
	multi_accept on;
}
http {
	${temporary.map((kind) => `${kind}_temp_path ${folder}/${kind};`).join('\n\t')}
	access_log off;
	sendfile on;
	# Head and body in one segment.
	tcp_nopush on;
	tcp_nodelay on;
	keepalive_timeout 600s;
	keepalive_requests 1000000000;
	open_file_cache max=19000 inactive=1h;
	open_file_cache_valid 1h;
	open_file_cache_min_uses 1;
	open_file_cache_errors on;
	types {}
	default_type "application/json; charset=utf-8";
	server {
		listen 127.0.0.1:${port} backlog=1024;
		root ${files};
		location /api/v1/games/ {
			# Measured: for bodies of 700 bytes, reading and writing with the head is cheaper.
			sendfile off;
		}
	}
}
`,
  );
  const command = ['nginx', '-p', folder, '-c', configuration, '-e', 'stderr'];
  return startServer(
    prepared,
    [...command, '-g', 'daemon off; error_log stderr notice;'],
    {},
    'start worker processes',
    () => `http://127.0.0.1:${port}`,
  );
}
