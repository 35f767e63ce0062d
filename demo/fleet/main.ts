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
import { readArguments } from '../../program/arguments.ts';
import { readEnvironment } from '../../program/environment/environment.ts';
import { issueKey, makeCatalogue } from '../catalogue.ts';
import {
  freePort,
  makeDemoFolder,
  report,
  runCommand,
  runDemo,
  startCommand,
  waitUntilReady,
} from '../programs.ts';
import { type Clients, startClients } from './clients.ts';
import { startNginx, startRedis } from './servers.ts';
import { makeView, type ProxyView } from './view.ts';

const USAGE = `npm run demo:fleet

Runs an origin and two edges behind nginx until Ctrl-C, and shows how they share
limits and snapshots. HOST and PORT set the address of nginx.
`;
const EDGES = 2;
const KEY_LIMIT = 120;
/** Twice what the limit allows, so that the proxies refuse about half of the requests. */
const REQUESTS_PER_SECOND = 4;
const PUBLISH_INTERVAL_MS = 20_000;
const VIEW_INTERVAL_MS = 250;
const PATHS = ['/games/snes/chrono-trigger', '/platforms', '/search?q=zelda', '/stats'];

/** The last generation that was published. */
interface Published {
  readonly id: string;
  /** When, by `performance.now()`. */
  readonly at: number;
  /** How long it took until all proxies served it; undefined while they do not. */
  servedAfterSeconds: number | undefined;
}

interface Edge {
  readonly name: string;
  readonly port: number;
  readonly adminPort: number;
}

/** Where the parts of the fleet are. */
interface Places {
  /** The address at which clients reach the fleet. */
  readonly api: string;
  readonly redisPort: number;
  /** The port at which nginx serves the depot to the replicas. */
  readonly depotPort: number;
  readonly inFolder: (name: string) => string;
}

async function main(): Promise<void> {
  readArguments(USAGE, {});
  const { HOST: host, PORT: port } = readEnvironment(['HOST', 'PORT']);
  const folder = makeDemoFolder();
  const places: Places = {
    api: `http://${host}:${port}`,
    redisPort: await freePort(),
    depotPort: await freePort(),
    inFolder: (name) => path.join(folder, name),
  };

  report('Starting Redis and making the keys that sign snapshots …');
  startRedis(places.redisPort);
  const { origin, replica } = await makeEnvironments(places);

  report('Creating the sample catalogue and publishing it to the depot …');
  await makeCatalogue(origin.DATABASE_URL);
  const key = await issueKey(origin, KEY_LIMIT);
  const published = await publish(origin);
  startCommand('the schedule', 'schedule', { ...origin, ADMIN_PORT: '0' });

  report(`Starting ${EDGES} edges and nginx …`);
  const edges = await startEdges(places, replica);
  startNginx(folder, {
    host,
    port,
    proxyPorts: edges.map((edge) => edge.port),
    depotPort: places.depotPort,
    depotFolder: origin.SNAPSHOT_PUSH,
  });
  for (const { adminPort } of edges) await waitUntilReady(`http://127.0.0.1:${adminPort}/readyz`);

  process.stdout.write(`
The fleet is at ${places.api}/api/v1

API key: ${key}
curl -i -H 'Authorization: Bearer ${key}' ${places.api}/api/v1/games/snes/chrono-trigger

Both proxies count the requests of this key together: at most ${KEY_LIMIT} in any 60 seconds.
Press Ctrl-C to stop everything.
`);
  const urls = PATHS.map((target) => `${places.api}/api/v1${target}`);
  const clients = startClients(urls, key, REQUESTS_PER_SECOND);
  const last = { published };
  await Promise.race([publishRegularly(origin, last), show(edges, clients, last)]);
}

/** Makes the depots and the signing keys. @returns the variables of the origin and of the replicas */
async function makeEnvironments({ inFolder }: Places) {
  const depot = inFolder('depot');
  const keysDepot = inFolder('keys-depot');
  for (const each of [depot, keysDepot]) mkdirSync(each);
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const signingKey = inFolder('signing.pem');
  writeFileSync(signingKey, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  const publicPem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
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
  return { origin, replica: { ...shared, SNAPSHOT_PUBLIC_KEYS: publicPem } };
}

/** Starts a replica and a proxy for each edge. */
async function startEdges(
  { api, redisPort, depotPort, inFolder }: Places,
  replica: NodeJS.ProcessEnv,
): Promise<Edge[]> {
  const edges: Edge[] = [];
  for (let number = 1; number <= EDGES; number++) {
    const edge = { name: `proxy ${number}`, port: await freePort(), adminPort: await freePort() };
    const environment = {
      ...replica,
      SNAPSHOTS_DIR: inFolder(`edge-${number}`),
      REPLICA_FROM: `http://127.0.0.1:${depotPort}`,
      HOST: '127.0.0.1',
      PORT: String(edge.port),
      ADMIN_PORT: String(edge.adminPort),
      PUBLIC_URL: api,
      LIMITS_URL: `redis://127.0.0.1:${redisPort}`,
      TRUSTED_PROXIES: '127.0.0.1',
    };
    startCommand(`replica ${number}`, 'replica', { ...environment, ADMIN_PORT: '0' });
    startCommand(edge.name, 'proxy', environment);
    edges.push(edge);
  }
  return edges;
}

/** What the demo has published last. */
interface LastPublished {
  published: Published;
}

async function publishRegularly(
  origin: NodeJS.ProcessEnv & { readonly DATABASE_URL: string },
  last: LastPublished,
): Promise<never> {
  for (;;) {
    await pause(PUBLISH_INTERVAL_MS);
    await changeGame(origin.DATABASE_URL);
    last.published = await publish(origin);
  }
}

async function show(edges: readonly Edge[], clients: Clients, last: LastPublished): Promise<never> {
  const view = makeView(process.stdout);
  for (;;) {
    const proxies = await Promise.all(edges.map((edge) => lookAt(edge, clients)));
    const { published } = last;
    if (proxies.every(({ snapshot }) => snapshot === published.id)) {
      published.servedAfterSeconds ??= (performance.now() - published.at) / 1000;
    }
    view({
      proxies,
      published,
      limit: KEY_LIMIT,
      admittedInMinute: clients.admittedInMinute(),
      failed: clients.failed(),
    });
    await pause(VIEW_INTERVAL_MS);
  }
}

async function publish(origin: NodeJS.ProcessEnv): Promise<Published> {
  const { id }: { id: string } = JSON.parse(await runCommand('generate', ['--json'], origin));
  return { id, at: performance.now(), servedAfterSeconds: undefined };
}

async function changeGame(url: string): Promise<void> {
  const database = await openDatabase(url);
  try {
    const text = `Changed by the demo at ${new Date().toISOString()}.`;
    await database.run("UPDATE games SET description = ? WHERE slug = 'chrono-trigger'", [text]);
  } finally {
    await database.close();
  }
}

async function lookAt({ name, port, adminPort }: Edge, clients: Clients): Promise<ProxyView> {
  const counts = clients.byProxy.get(`127.0.0.1:${port}`) ?? { admitted: 0, refused: 0 };
  const state = await fetch(`http://127.0.0.1:${adminPort}/readyz`)
    .then((reply) => reply.json() as Promise<{ snapshot: string; limits: { mode: string } }>)
    .catch(() => undefined);
  return { name, snapshot: state?.snapshot, limits: state?.limits.mode, ...counts };
}

runDemo(main);
