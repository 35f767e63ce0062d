/** Redis and nginx for the fleet of the demo, each with its files in the demo's folder. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { startProgram } from '../programs.ts';

/** Starts Redis on loopback. It keeps nothing on disk: limits are about the last minute. */
export function startRedis(port: number): void {
  const settings = ['--port', String(port), '--bind', '127.0.0.1', '--save', ''];
  startProgram('Redis', 'redis-server', [...settings, '--loglevel', 'warning'], process.env);
}

export interface NginxAddresses {
  readonly host: string;
  /** Where clients reach the fleet. */
  readonly port: number;
  readonly proxyPorts: readonly number[];
  /** Where the replicas find the depot. */
  readonly depotPort: number;
  readonly depotFolder: string;
}

/** Starts nginx: it balances the load over the proxies, and serves the depot as static files. */
export function startNginx(folder: string, addresses: NginxAddresses): void {
  const own = path.join(folder, 'nginx');
  mkdirSync(own);
  const file = path.join(own, 'nginx.conf');
  writeFileSync(file, configurationOf(own, addresses));
  const environment = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin` };
  startProgram('nginx', 'nginx', ['-p', own, '-c', file, '-e', 'error.log'], environment);
}

function configurationOf(own: string, addresses: NginxAddresses): string {
  const { host, port, proxyPorts, depotPort, depotFolder } = addresses;
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  // As root, nginx would read the depot as another user, who may not.
  const user = process.getuid?.() === 0 ? 'user root;' : '';
  return `
${user}
daemon off;
worker_processes 1;
pid ${own}/nginx.pid;
events {}
http {
${temporary.map((kind) => `  ${kind}_temp_path ${own}/${kind};`).join('\n')}
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
`;
}
