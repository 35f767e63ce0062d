/** Redis and nginx for the fleet of the demo, each with its files in the demo's folder. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { startProgram } from '../programs.ts';

/** Starts Redis on loopback. It keeps nothing on disk: limits are about the last minute. */
export function startRedis(port: number): void {
  const settings = ['--port', String(port), '--bind', '127.0.0.1', '--save', ''];
  startProgram('Redis', process.env, 'redis-server', [...settings, '--loglevel', 'warning']);
}

interface NginxAddresses {
  readonly host: string;
  /** Where clients reach the fleet. */
  readonly port: number;
  readonly proxyPorts: readonly number[];
  /** Where the replicas find the depot. */
  readonly depotPort: number;
  readonly depotFolder: string;
}

/**
 * Starts nginx: it balances the load over the proxies, and serves the depot as static files.
 * @param folder for its own files; it does not exist yet
 */
export function startNginx(folder: string, addresses: NginxAddresses): void {
  const { host, port, proxyPorts, depotPort, depotFolder } = addresses;
  mkdirSync(folder);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const file = path.join(folder, 'nginx.conf');
  // As root, nginx would read the depot as another user, who may not.
  const user = process.getuid?.() === 0 ? 'user root;' : '';
  writeFileSync(
    file,
    `
${user}
daemon off;
worker_processes 1;
pid ${folder}/nginx.pid;
events {}
http {
${temporary.map((kind) => `  ${kind}_temp_path ${folder}/${kind};`).join('\n')}
  access_log off;
  upstream fleet {
${proxyPorts.map((each) => `    server 127.0.0.1:${each} max_fails=3 fail_timeout=1s;`).join('\n')}
${proxyPorts.map((each) => `    server 127.0.0.1:${each} backup max_fails=0;`).join('\n')}
    keepalive 32;
  }
  server {
    listen ${host}:${port};
    location / {
      proxy_pass http://fleet;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header X-Forwarded-For $remote_addr;
      proxy_next_upstream error timeout http_503;
      add_header X-Demo-Proxy $upstream_addr always;
    }
  }
  server {
    listen 127.0.0.1:${depotPort};
    root ${depotFolder};
  }
}
`,
  );
  const environment = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin` };
  startProgram('nginx', environment, 'nginx', ['-p', folder, '-c', file, '-e', 'error.log']);
}
