/** nginx with the static files, either without a check of keys (the lower bound of the cost) or with auth_request. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import path from 'node:path';

const BASE = '/api/v1';
/** The path of a fixed 401, for nginx without a check of keys. */
export const UNAUTHORIZED = '/unauthorized';
const DENIAL = `return 401 '{"error":"Missing API key"}';`;

/** How many files one process may have open on this machine. */
function mostOpenFiles(): number {
  return Number(
    execFileSync('sh', ['-c', 'ulimit -Hn | sed s/unlimited/1048576/'], { encoding: 'utf8' }),
  );
}

/** How many files nginx keeps open in these configurations. */
export function cachedFiles(): number {
  return Math.min(mostOpenFiles() - 1000, 200_000);
}

/**
 * Writes a configuration with one worker, without logs, and with everything that makes static files
 * fast.
 * @param checkerSocket the socket of the checker for auth_request; without it, files need no key
 * @returns the command that starts it
 */
export function nginxCommand(
  folder: string,
  files: string,
  port: number,
  checkerSocket?: string,
): string[] {
  mkdirSync(folder, { recursive: true });
  const inFolder = (name: string) => path.join(folder, name);
  const isRoot = userInfo().uid === 0;
  const checked = `
		location = /check {
			internal;
			proxy_pass http://checker;
			proxy_http_version 1.1;
			proxy_pass_request_body off;
			proxy_pass_request_headers off;
			proxy_set_header Connection "";
			proxy_set_header Content-Length "";
			proxy_set_header X-Api-Key $http_x_api_key;
		}
		error_page 401 @missing;
		location @missing {
			${DENIAL}
		}
		auth_request /check;
		auth_request_set $limit $upstream_http_x_ratelimit_limit;
		auth_request_set $remaining $upstream_http_x_ratelimit_remaining;
		auth_request_set $reset $upstream_http_x_ratelimit_reset;
		add_header X-RateLimit-Limit $limit;
		add_header X-RateLimit-Remaining $remaining;
		add_header X-RateLimit-Reset $reset;`;
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((kind) => `\t${kind}_temp_path ${inFolder(kind)};`)
    .join('\n');
  writeFileSync(
    inFolder('nginx.conf'),
    `${isRoot ? `user ${userInfo().username};` : ''}
worker_processes 1;
worker_rlimit_nofile ${mostOpenFiles()};
pid ${inFolder('nginx.pid')};
error_log stderr error;
events {
	worker_connections 512;
	multi_accept on;
}
http {
${temporary}
	access_log off;
	sendfile on;
	# Head and body in one segment.
	tcp_nopush on;
	tcp_nodelay on;
	keepalive_timeout 600s;
	keepalive_requests 1000000000;
	open_file_cache max=${cachedFiles()} inactive=1h;
	open_file_cache_valid 1h;
	open_file_cache_min_uses 1;
	open_file_cache_errors on;
	types {}
	default_type "application/json; charset=utf-8";
	gzip off;
	gzip_static on;
	${
    checkerSocket === undefined
      ? ''
      : `upstream checker {
		server unix:${checkerSocket};
		keepalive 64;
		keepalive_requests 1000000000;
		keepalive_timeout 600s;
	}`
  }
	server {
		listen 127.0.0.1:${port} backlog=1024;
		root ${files};
		location ${BASE}/games/ {
			# Measured: for bodies of 700 bytes, reading and writing with the head is cheaper.
			sendfile off;
		}
		${
      checkerSocket === undefined
        ? `location = ${UNAUTHORIZED} {
			${DENIAL}
		}`
        : checked
    }
	}
}
`,
  );
  return ['nginx', '-p', folder, '-c', inFolder('nginx.conf'), '-e', 'stderr', '-g', 'daemon off;'];
}
