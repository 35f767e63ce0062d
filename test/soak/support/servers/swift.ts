/**
 * OpenStack Swift on loopback with the API of S3 (s3api), from Debian: a proxy, one server each for
 * accounts, containers and objects, and memcached. Its objects have one copy in a new folder. The
 * servers end with the test file. Swift reads /etc/swift/swift.conf, which its packages install.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { AwsV4Signer } from 'aws4fetch';
import { atEndOfFile } from '../../../support/end-of-file.ts';
import { startTied, type TiedServer } from '../../../support/processes.ts';
import { makeFolder, send } from '../../../support/product.ts';
import { freePort, listens } from '../../../support/servers/ports.ts';
import { BUCKET, type RunningS3 } from '../../../support/servers/s3.ts';
import { until } from '../until.ts';

const KINDS = ['account', 'container', 'object'] as const;
const USER = 'test:tester';
const PASSWORD = 'testing';

/** Starts Swift with one bucket, {@link BUCKET}. */
export async function startSwift(): Promise<RunningS3> {
  const folder = makeFolder();
  mkdirSync(path.join(folder, 'node/disk'), { recursive: true });
  const [port, cachePort] = await Promise.all([freePort(), freePort()]);
  const user = execFileSync('id', ['-un']).toString().trim();
  const own = `user = ${user}\nswift_dir = ${folder}\nworkers = 0\nbind_ip = 127.0.0.1`;
  const started = [
    await start(['memcached', '-u', user, '-l', '127.0.0.1', '-p', String(cachePort)], cachePort),
  ];
  for (const kind of KINDS) {
    const kindPort = await freePort();
    makeRing(folder, kind, kindPort);
    const file = path.join(folder, `${kind}-server.conf`);
    writeFileSync(file, serverText(own, kind, kindPort, path.join(folder, 'node')));
    started.push(await start([`swift-${kind}-server`, file], kindPort));
  }
  const file = path.join(folder, 'proxy-server.conf');
  writeFileSync(file, proxyText(own, port, cachePort));
  started.push(await start(['swift-proxy-server', file], port));
  const url = `http://127.0.0.1:${port}`;
  await makeBucket(url);
  return {
    environment: {
      AWS_ACCESS_KEY_ID: USER,
      AWS_SECRET_ACCESS_KEY: PASSWORD,
      AWS_ENDPOINT_URL_S3: url,
    },
    port,
    async stop() {
      await Promise.all(started.map((server) => server.stop()));
    },
  };
}

async function start(command: readonly string[], port: number): Promise<TiedServer> {
  const server = await startTied(command);
  atEndOfFile(server.stop);
  await until(() => listens(port));
  return server;
}

function makeRing(folder: string, kind: string, port: number): void {
  const builder = (...args: string[]) =>
    execFileSync('swift-ring-builder', [path.join(folder, `${kind}.builder`), ...args]);
  builder('create', '4', '1', '1');
  builder('add', `r1z1-127.0.0.1:${port}/disk`, '1');
  builder('rebalance');
}

function serverText(own: string, kind: string, port: number, devices: string): string {
  return `[DEFAULT]
${own}
bind_port = ${port}
devices = ${devices}
mount_check = false
fallocate_reserve = 0
log_level = ERROR
[pipeline:main]
pipeline = ${kind}-server
[app:${kind}-server]
use = egg:swift#${kind}
`;
}

function proxyText(own: string, port: number, cachePort: number): string {
  const filters = ['catch_errors', 'copy', 'dlo', 'slo'];
  return `[DEFAULT]
${own}
bind_port = ${port}
[pipeline:main]
pipeline = catch_errors cache s3api tempauth copy dlo slo proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
allow_account_management = true
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:${cachePort}
[filter:s3api]
use = egg:swift#s3api
location = us-east-1
[filter:tempauth]
use = egg:swift#tempauth
user_${USER.replace(':', '_')} = ${PASSWORD} .admin
${filters.map((name) => `[filter:${name}]\nuse = egg:swift#${name}`).join('\n')}
`;
}

async function makeBucket(url: string): Promise<void> {
  const signer = new AwsV4Signer({
    method: 'PUT',
    url: `${url}/${BUCKET}`,
    service: 's3',
    region: 'us-east-1',
    accessKeyId: USER,
    secretAccessKey: PASSWORD,
  });
  const { headers } = await signer.sign();
  // The object servers need a moment before the first request.
  await until(async () => {
    const reply = await send(`${url}/${BUCKET}`, {
      method: 'PUT',
      headers: Object.fromEntries(headers),
    });
    return reply.status === 200;
  });
}
