/**
 * `npm run proxy`: serves the snapshot on HOST:PORT until SIGTERM or SIGINT. It is handed
 * `SNAPSHOTS_DIR` and no database address; all that it knows comes from files there.
 */
import '../environment/node-version.ts';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { performance } from 'node:perf_hooks';
import { pino } from 'pino';
import {
  ConfigurationError,
  loadEnvironmentFile,
  readEnvironment,
} from '../environment/environment.ts';
import { MINISEARCH_OPTIONS_HASH } from '../format/words.ts';
import { makeAdminServer } from './admin.ts';
import { isForwarded, makeForwarder } from './forward.ts';
import { makeApi } from './http/handle.ts';
import { makeServer, type SiteHandler } from './http/server.ts';
import { makeKeyStore } from './key-store.ts';
import { makeAddressLimits } from './limits/address-limits.ts';
import { makeMetrics } from './metrics.ts';
import { makeSiteHandler } from './site-handler.ts';
import { openSnapshots } from './snapshot/snapshots.ts';

const SNAPSHOT_POLL_MS = 500;
const KEYS_POLL_MS = 1_000;
/** How long balancers have to see that this proxy is not ready before it stops to listen. */
const NOTICE_MS = 500;
/** Requests still under way after this are cut. */
const STOP_DEADLINE_MS = 10_000;

async function main(): Promise<void> {
  loadEnvironmentFile();
  const environment = readEnvironment([
    'SNAPSHOTS_DIR',
    'HOST',
    'PORT',
    'ADMIN_HOST',
    'ADMIN_PORT',
    'ADDRESS_RATE_LIMIT',
    'TRUSTED_PROXIES',
    'KEYS_URL',
    'LOG_LEVEL',
  ]);
  const { SNAPSHOTS_DIR: snapshotsDir } = environment;
  const log = pino({ level: environment.LOG_LEVEL }, pino.destination(2));
  const now = () => performance.now();
  const metrics = makeMetrics();
  const keys = makeKeyStore(snapshotsDir);
  const snapshots = openSnapshots(
    snapshotsDir,
    {
      swapped(generation, milliseconds) {
        metrics.countSwap(milliseconds);
        const { id, manifest } = generation;
        log.info({ snapshot: id, ...manifest.counts, milliseconds }, 'serving a generation');
        if (manifest.minisearch_options !== MINISEARCH_OPTIONS_HASH) {
          log.warn(
            { snapshot: id, node: process.version, unicode: process.versions.unicode },
            'the generator takes words apart by other rules (another Node?): searches may miss titles',
          );
        }
      },
      refused(id, error) {
        log.error({ snapshot: id, err: error }, 'refused a generation');
      },
    },
    now,
  );
  let isStopping = false;
  const api = makeApi({
    snapshots,
    keys,
    addresses: makeAddressLimits(environment.ADDRESS_RATE_LIMIT),
    trustedProxies: environment.TRUSTED_PROXIES,
    metrics,
    log,
    now,
  });
  const fixedPages = makeSiteHandler();
  const { KEYS_URL: keysUrl, TRUSTED_PROXIES: trusted } = environment;
  const forward = keysUrl === '' ? undefined : makeForwarder(keysUrl, trusted, log);
  const site: SiteHandler = (request, response, path) => {
    if (forward !== undefined && isForwarded(path)) forward(request, response);
    else fixedPages(request, response, path);
  };
  const server = makeServer(api, site, log);
  const admin = makeAdminServer({
    snapshotsDir,
    snapshots,
    keys,
    metrics,
    isStopping: () => isStopping,
  });

  const follow = (step: string, milliseconds: number, refresh: () => Promise<unknown>) => {
    let lastFault = '';
    const check = async () => {
      try {
        await refresh();
        lastFault = '';
      } catch (error) {
        // Said once, not at every poll.
        const { message } = error as Error;
        if (message !== lastFault) log.warn({ err: error }, `cannot ${step}; going on as before`);
        lastFault = message;
      }
    };
    let timer: NodeJS.Timeout | undefined;
    const loop = async () => {
      await check();
      timer = setTimeout(loop, milliseconds);
    };
    return { start: loop, stop: () => clearTimeout(timer) };
  };
  const followers = [
    follow('follow the snapshot', SNAPSHOT_POLL_MS, snapshots.refresh),
    follow('read the keys', KEYS_POLL_MS, keys.refresh),
  ];
  await Promise.all(followers.map(({ start }) => start()));

  await listen(admin, environment.ADMIN_HOST, environment.ADMIN_PORT, 'ADMIN_PORT');
  await listen(server, environment.HOST, environment.PORT, 'PORT');
  log.info({ api: addressOf(server), admin: addressOf(admin) }, 'listening');

  // A kept-alive connection would hold the end up: the next response on it says that it is the last.
  server.prependListener('request', (_request, response) => {
    if (isStopping) response.shouldKeepAlive = false;
  });
  const stop = async (signal: string) => {
    if (isStopping) return;
    isStopping = true;
    log.info({ signal }, 'stopping');
    await new Promise((resolve) => setTimeout(resolve, NOTICE_MS));
    for (const { stop: stopFollowing } of followers) stopFollowing();
    const cut = setTimeout(() => server.closeAllConnections(), STOP_DEADLINE_MS);
    const closed = new Promise((resolve) => server.close(resolve));
    const idle = setInterval(() => server.closeIdleConnections(), 100);
    await closed;
    clearInterval(idle);
    clearTimeout(cut);
    admin.close();
    admin.closeAllConnections();
    snapshots.close();
    log.info('stopped');
    process.exit(0);
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}

function listen(server: Server, host: string, port: number, variable: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const why = cause.code === 'EADDRINUSE' ? 'another program listens there' : cause.message;
      reject(
        new ConfigurationError(
          `Cannot listen on ${host}:${port}: ${why}. Set ${variable} to another port.`,
        ),
      );
    });
    server.listen(port, host, resolve);
  });
}

function addressOf(server: Server): string {
  const { address, port } = server.address() as AddressInfo;
  return `${address}:${port}`;
}

main().catch((error: Error) => {
  if (error instanceof ConfigurationError) {
    process.stderr.write(`${error.message}\n`);
    process.exit(2);
  }
  process.stderr.write(`The proxy cannot start: ${error.message}\n`);
  process.exit(1);
});
