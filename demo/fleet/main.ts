/**
 * `npm run demo:fleet`: one origin, which generates and pushes snapshots to a depot, and two edges, each
 * a replica and a proxy. nginx balances the load over the proxies and serves the depot to the replicas;
 * Redis counts the limits of both proxies together. Now and then the demo changes a game and publishes.
 * On SIGTERM or Ctrl-C it ends all programs and removes its folder.
 */
import '../../program/environment/node-version.ts';
import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { openDatabase } from '../../database/open.ts';
import { runGenerator } from '../../generator/cli/run-generator.ts';
import { runKeys } from '../../keys/cli/run-keys.ts';
import { readArguments } from '../../program/arguments.ts';
import { readEnvironment } from '../../program/environment/environment.ts';
import { fillDatabase } from '../catalogue/load.ts';
import { sampleCatalogue } from '../catalogue/sample.ts';
import {
  freePort,
  makeDemoFolder,
  report,
  runCommand,
  runDemo,
  startProgram,
  waitUntilReady,
} from '../programs.ts';
import { startClients } from './clients.ts';
import { startNginx, startRedis } from './servers.ts';

const USAGE = `npm run demo:fleet

Runs an origin and two edges behind nginx until Ctrl-C, and shows how they share
limits and snapshots. HOST and PORT set the address of nginx.
`;
const KEY_LIMIT = 120;
/** Twice what the limit allows, so that the proxies refuse about half of the requests. */
const REQUESTS_PER_SECOND = 4;
const PUBLISH_INTERVAL_MS = 20_000;
const LOOK_INTERVAL_MS = 250;
const LOOKS_PER_REPORT = 20;
const PATHS = ['/games/snes/chrono-trigger', '/platforms', '/search?q=zelda', '/stats'];

/** The last generation that was published. */
interface Published {
  readonly id: string;
  /** When, by `performance.now()`. */
  readonly at: number;
}

interface Edge {
  readonly name: string;
  readonly port: number;
  readonly adminPort: number;
}

async function main(): Promise<void> {
  readArguments(USAGE, {});
  const { HOST: host, PORT: port } = readEnvironment(['HOST', 'PORT']);
  const folder = makeDemoFolder();
  const inFolder = (name: string) => path.join(folder, name);
  const api = `http://${host}:${port}`;

  report('Starting Redis …');
  const redisPort = await freePort();
  startRedis(redisPort);

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
  const published = await publish(origin);
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
  startNginx(inFolder('nginx'), { host, port, proxyPorts, depotPort, depotFolder: depot });
  for (const { adminPort } of edges) await waitUntilReady(`http://127.0.0.1:${adminPort}/readyz`);

  process.stdout.write(`
The fleet is at ${api}/api/v1

API key: ${key}
curl -i -H 'Authorization: Bearer ${key}' ${api}/api/v1/games/snes/chrono-trigger

Both proxies count the requests of this key together: at most ${KEY_LIMIT} in any 60 seconds.
Press Ctrl-C to stop everything.
`);
  const urls = PATHS.map((target) => `${api}/api/v1${target}`);
  const clients = startClients(urls, key, REQUESTS_PER_SECOND);
  const last = { published };
  const publishRegularly = async () => {
    for (;;) {
      await pause(PUBLISH_INTERVAL_MS);
      await changeGame(origin.DATABASE_URL);
      last.published = await publish(origin);
    }
  };
  await Promise.race([publishRegularly(), show(edges, clients, last)]);
}

async function publish(origin: NodeJS.ProcessEnv): Promise<Published> {
  const { id } = JSON.parse(await runCommand(runGenerator, ['--json'], origin));
  return { id, at: performance.now() };
}

async function changeGame(url: string): Promise<void> {
  const database = await openDatabase(url);
  const text = `Changed by the demo at ${new Date().toISOString()}.`;
  await database
    .run("UPDATE games SET description = ? WHERE slug = 'chrono-trigger'", [text])
    .finally(database.close);
}

/** Prints now and then what was published, what each proxy serves, and how many requests it admitted. */
async function show(
  edges: readonly Edge[],
  clients: ReturnType<typeof startClients>,
  last: { readonly published: Published },
): Promise<never> {
  let servedAt: Published | undefined;
  for (let looks = 0; ; looks++) {
    const states = await Promise.all(edges.map(readState));
    const { id, at } = last.published;
    if (servedAt?.id !== id && states.every((state) => state?.snapshot === id)) {
      servedAt = { id, at: performance.now() };
    }
    if (looks % LOOKS_PER_REPORT === 0) {
      const when =
        servedAt?.id === id
          ? `served by all proxies after ${((servedAt.at - at) / 1000).toFixed(1)} s`
          : 'on its way to the proxies';
      const rows = edges.map(({ name, port }, index) => {
        const { snapshot = 'no answer', limits } = states[index] ?? {};
        const { admitted, refused } = clients.countsOf(port);
        const mode = limits?.mode ?? 'unknown';
        return `  ${name}: ${snapshot}, limits ${mode}, ${admitted} admitted, ${refused} × 429\n`;
      });
      process.stdout.write(`\npublished ${id} (${when})\n${rows.join('')}`);
      process.stdout.write(
        `  ${clients.admittedInMinute()} of ${KEY_LIMIT} admitted in the last 60 s, ${clients.failed()} failed\n`,
      );
    }
    await pause(LOOK_INTERVAL_MS);
  }
}

/** What a proxy says of itself; undefined if it does not answer. */
async function readState({ adminPort }: Edge) {
  return fetch(`http://127.0.0.1:${adminPort}/readyz`)
    .then((reply) => reply.json() as Promise<{ snapshot: string; limits: { mode: string } }>)
    .catch(() => undefined);
}

runDemo(main);
