/**
 * `npm run demo:fleet`: one origin, which generates and pushes snapshots to a depot, and two edges, each
 * a replica and a proxy. nginx balances the load over the proxies and serves the depot to the replicas;
 * Redis counts the limits of both proxies together. Now and then the demo changes a game and publishes.
 * On SIGTERM or Ctrl-C it ends all programs and removes its folder.
 */
import '../../lib/program/environment/node-version.ts';
import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setInterval as every } from 'node:timers/promises';
import { runGenerator } from '../../cli/generate.ts';
import { runKeys } from '../../cli/keys.ts';
import { openDatabase } from '../../lib/database/open.ts';
import { readArguments } from '../../lib/program/arguments.ts';
import { readEnvironment } from '../../lib/program/environment/environment.ts';
import { fillDatabase } from '../catalogue/load.ts';
import { sampleCatalogue } from '../catalogue/sample.ts';
import {
  freePort,
  report,
  runCommand,
  runDemo,
  startProgram,
  waitUntilReady,
} from '../programs.ts';

const USAGE = `npm run demo:fleet

Runs an origin and two edges behind nginx until Ctrl-C, and shows how they share
limits and snapshots. HOST and PORT set the address of nginx.
`;
const KEY_LIMIT = 120;
/** Twice as many requests as the limit allows, so that the proxies refuse about half of them. */
const REQUEST_INTERVAL_MS = 250;
const PUBLISH_INTERVAL_MS = 20_000;
const REPORT_INTERVAL_MS = 5_000;
const PATHS = ['/games/snes/chrono-trigger', '/platforms', '/search?q=zelda', '/stats'];

interface Edge {
  readonly name: string;
  readonly port: number;
  readonly adminPort: number;
}

async function main(folder: string): Promise<void> {
  readArguments(USAGE, process.argv.slice(2));
  const { HOST: host, PORT: port } = readEnvironment(['HOST', 'PORT']);
  const inFolder = (name: string) => path.join(folder, name);
  const api = `http://${host}:${port}`;

  report('Starting Redis …');
  const redisPort = await freePort();
  // It keeps nothing on disk: limits are about the last minute.
  const redis = `--port ${redisPort} --bind 127.0.0.1 --loglevel warning`.split(' ');
  startProgram('Redis', process.env, 'redis-server', [...redis, '--save', '']);

  report('Creating the sample catalogue and publishing it to the depot …');
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const signingKey = inFolder('signing.pem');
  writeFileSync(signingKey, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  const [depot, keysDepot] = ['depot', 'keys-depot'].map(inFolder);
  for (const each of [depot, keysDepot]) mkdirSync(each);
  const shared = {
    ...process.env,
    SITE_URL: 'https://covers.example',
    FILES_URL: 'https://covers.example/files',
    KEYS_DEPOT: keysDepot,
    LOG_LEVEL: process.env.LOG_LEVEL ?? 'error',
  };
  const origin = {
    ...shared,
    DATABASE_URL: `sqlite:${inFolder('catalogue.db')}`,
    SNAPSHOTS_DIR: inFolder('origin'),
    PUBLIC_URL: 'https://covers.example',
    SNAPSHOT_PUSH: depot,
    SNAPSHOT_SIGNING_KEY: signingKey,
    // The demo starts the runs itself.
    GENERATE_CRON: 'off',
  };
  await fillDatabase(origin.DATABASE_URL, sampleCatalogue());
  const key = await runCommand(runKeys, ['issue', '--limit', String(KEY_LIMIT)], origin);
  let published = await publish(origin);
  startProgram('schedule', { ...origin, ADMIN_PORT: '0' });

  report('Starting two edges and nginx …');
  const depotPort = await freePort();
  const edges: Edge[] = [];
  for (const number of [1, 2]) {
    const edge = { name: `proxy ${number}`, port: await freePort(), adminPort: await freePort() };
    const environment = {
      ...shared,
      SNAPSHOTS_DIR: inFolder(`edge-${number}`),
      SNAPSHOT_PUBLIC_KEYS: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
      REPLICA_FROM: `http://127.0.0.1:${depotPort}`,
      HOST: '127.0.0.1',
      PORT: String(edge.port),
      ADMIN_PORT: String(edge.adminPort),
      PUBLIC_URL: api,
      LIMITS_URL: `redis://127.0.0.1:${redisPort}`,
      TRUSTED_PROXIES: '127.0.0.1',
    };
    startProgram('replica', { ...environment, ADMIN_PORT: '0' });
    startProgram('proxy', environment);
    edges.push(edge);
  }
  const proxyPorts = edges.map((edge) => edge.port);
  const nginx = inFolder('nginx');
  mkdirSync(nginx);
  const configuration = nginxConfiguration(nginx, `${host}:${port}`, proxyPorts, depotPort, depot);
  writeFileSync(`${nginx}/nginx.conf`, configuration);
  const environment = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin` };
  const options = ['-p', nginx, '-c', 'nginx.conf', '-e', 'error.log'];
  startProgram('nginx', environment, 'nginx', options);
  for (const { adminPort } of edges) await waitUntilReady(`http://127.0.0.1:${adminPort}/readyz`);

  process.stdout.write(`
The fleet is at ${api}/api/v1

API key: ${key}
curl -i -H 'Authorization: Bearer ${key}' ${api}/api/v1/games/snes/chrono-trigger

Both proxies count the requests of this key together: at most ${KEY_LIMIT} in any 60 seconds.
Press Ctrl-C to stop everything.
`);
  const countOf = startClients(`${api}/api/v1`, key);
  const showRegularly = async () => {
    for await (const _ of every(REPORT_INTERVAL_MS)) {
      const lines = await Promise.all(edges.map((edge) => lineOf(edge, countOf)));
      process.stdout.write(`\npublished ${published}\n${lines.join('')}`);
    }
  };
  const publishRegularly = async () => {
    for await (const _ of every(PUBLISH_INTERVAL_MS)) {
      await changeGame(origin.DATABASE_URL);
      published = await publish(origin);
    }
  };
  await Promise.all([showRegularly(), publishRegularly()]);
}

/**
 * nginx balances the load over the proxies, and serves the depot as static files.
 * @param folder for its own files
 * @param listen where clients reach the fleet
 * @param depotPort where the replicas find the depot
 */
function nginxConfiguration(
  folder: string,
  listen: string,
  proxyPorts: readonly number[],
  depotPort: number,
  depotFolder: string,
): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  // As root, nginx would read the depot as another user, who may not.
  return `
${process.getuid?.() === 0 ? 'user root;' : ''}
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
    listen ${listen};
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

/** @returns the id of the generation */
async function publish(origin: NodeJS.ProcessEnv): Promise<string> {
  return JSON.parse(await runCommand(runGenerator, ['--json'], origin)).id;
}

async function changeGame(url: string): Promise<void> {
  const database = await openDatabase(url);
  const text = `Changed by the demo at ${new Date().toISOString()}.`;
  await database
    .run("UPDATE games SET description = ? WHERE slug = 'chrono-trigger'", [text])
    .finally(database.close);
}

/** Sends requests until the demo ends. @returns how many answers with a status a proxy has given */
function startClients(api: string, key: string) {
  const answers = new Map<string, number>();
  const send = async (target: string) => {
    const response = await fetch(api + target, { headers: { Authorization: `Bearer ${key}` } });
    await response.arrayBuffer();
    const answer = `${response.headers.get('x-demo-proxy')} ${response.status}`;
    answers.set(answer, (answers.get(answer) ?? 0) + 1);
  };
  let sent = 0;
  setInterval(() => {
    send(PATHS[sent++ % PATHS.length]).catch(({ message }) =>
      report(`A request failed: ${message}`),
    );
  }, REQUEST_INTERVAL_MS);
  return (port: number, status: number) => answers.get(`127.0.0.1:${port} ${status}`) ?? 0;
}

/** What a proxy serves, and what it has answered. */
async function lineOf({ name, port, adminPort }: Edge, countOf: ReturnType<typeof startClients>) {
  const signal = AbortSignal.timeout(REPORT_INTERVAL_MS);
  const state = await fetch(`http://127.0.0.1:${adminPort}/readyz`, { signal })
    .then((reply) => reply.json() as Promise<{ snapshot: string; limits: { mode: string } }>)
    .catch(() => ({ snapshot: 'no answer', limits: { mode: 'unknown' } }));
  const counts = `${countOf(port, 200)} admitted, ${countOf(port, 429)} × 429`;
  return `  ${name}: ${state.snapshot}, limits ${state.limits.mode}, ${counts}\n`;
}

await runDemo(main);
