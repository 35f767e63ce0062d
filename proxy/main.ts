/**
 * `cover-catalogue proxy`: serves the snapshot on HOST:PORT until SIGTERM or SIGINT. It is handed
 * `SNAPSHOTS_DIR` and no database address; all that it knows comes from files there.
 */
import '../program/environment/node-version.ts';
import '../program/stop.ts';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import type { Logger } from 'pino';
import { MINISEARCH_OPTIONS_HASH } from '../format/index/words.ts';
import { keyUsageFile } from '../format/layout.ts';
import { findOtherCollation } from '../format/manifest.ts';
import { readArguments } from '../program/arguments.ts';
import { newConnectionCells } from '../program/connections.ts';
import { loadEnvironmentFile, readEnvironment } from '../program/environment/environment.ts';
import { reportFailure } from '../program/failure.ts';
import { checkReadableFolder, isMissing } from '../program/folders.ts';
import { listenAll } from '../program/listen.ts';
import { makeLog } from '../program/log.ts';
import { poll } from '../program/poll.ts';
import { stopWith } from '../program/stop.ts';
import { makeAdminServer } from './admin/admin.ts';
import { type Metrics, makeMetrics, makeRequestCounts, newCounts } from './admin/metrics.ts';
import { makeProxyLimit, type ProxyLimit } from './connection-limit.ts';
import { makeInstanceFiles } from './instance-files.ts';
import { makeKeyStore } from './keys/key-store.ts';
import { makeKeyUsage } from './keys/key-usage.ts';
import { makeAddressLimits } from './limits/address-limits.ts';
import { bootId, makeLimitHandover } from './limits/limit-handover.ts';
import { openSnapshots, type SnapshotEvents } from './snapshot/snapshots.ts';
import { makeServing, now } from './workers/serving.ts';
import { startPeers } from './workers/worker-pool.ts';

const SNAPSHOT_POLL_MS = 500;
const KEYS_POLL_MS = 1_000;
const USAGE_INTERVAL_MS = 60_000;
const USAGE = `cover-catalogue proxy

Serves the API on HOST:PORT from the current generation in SNAPSHOTS_DIR, and
health and metrics on ADMIN_HOST:ADMIN_PORT, until SIGTERM or SIGINT.

Exit codes: 0 stopped, 1 failed, 2 wrong usage or configuration.
`;
/** How long balancers have to see that this proxy is not ready before it stops to listen. */
const NOTICE_MS = 500;

async function main(): Promise<void> {
  readArguments(USAGE, {});
  loadEnvironmentFile();
  const environment = readEnvironment(
    [
      'SNAPSHOTS_DIR',
      'HOST',
      'PORT',
      'PROXY_THREADS',
      'SNAPSHOT_MEMORY_MB',
      'ADMIN_HOST',
      'ADMIN_PORT',
      'ADDRESS_RATE_LIMIT',
      'TRUSTED_PROXIES',
      'ACCOUNT_URL',
      'LOG_LEVEL',
    ],
    process.env,
    { SNAPSHOTS_DIR: checkReadableFolder },
  );
  const { SNAPSHOTS_DIR: snapshotsDir, PROXY_THREADS: threads } = environment;
  const log = makeLog(environment.LOG_LEVEL);
  if (isMissing(snapshotsDir)) {
    log.warn(
      { SNAPSHOTS_DIR: path.resolve(snapshotsDir) },
      'SNAPSHOTS_DIR does not exist: requests get 503 until the generator creates it; correct the path if it is wrong',
    );
  }
  const counts = Array.from({ length: threads }, newCounts);
  const metrics = makeMetrics(counts);
  const addresses = makeAddressLimits(environment.ADDRESS_RATE_LIMIT);
  const files = makeInstanceFiles(snapshotsDir);
  const boot = bootId();
  const clock = () => ({ now: now(), wall: Date.now(), boot });
  const handover = makeLimitHandover(files, environment.PORT, clock, log);
  const saved = await handover.read();
  if (saved !== undefined) addresses.restore(saved.addresses);
  const connections = Array.from({ length: threads }, newConnectionCells);
  const limit = makeProxyLimit(connections, environment.ACCOUNT_URL !== '', metrics.registry, log);
  const cells = counts.map((ofThread, place) => ({
    counts: ofThread,
    connections: connections[place],
  }));
  const events = makeEvents(metrics, limit, log);
  const snapshots = openSnapshots(snapshotsDir, environment.SNAPSHOT_MEMORY_MB, events, now);
  const peers = startPeers(cells.slice(1), addresses.memory, snapshots.store, (error) => {
    log.fatal({ err: error }, 'a serving thread failed');
    process.exit(1);
  });
  const keys = makeKeyStore(snapshotsDir, peers.announceKeys, saved?.keys);
  const serving = makeServing({
    snapshots,
    keys,
    addresses,
    trustedProxies: environment.TRUSTED_PROXIES,
    accountUrl: environment.ACCOUNT_URL,
    counts: makeRequestCounts(counts[0]),
    connections: connections[0],
    log,
  });
  const { server } = serving;
  let isStopping = false;
  const admin = makeAdminServer({
    snapshotsDir,
    snapshots,
    keys,
    metrics,
    isStopping: () => isStopping,
    faults: () => polls.flatMap((one) => one.fault() ?? []),
  });
  const warn = (step: string, consequence: () => string) => (error: Error) =>
    log.warn({ err: error }, `cannot ${step}; ${consequence()}`);
  const asBefore = () => 'going on as before';
  const snapshotPoll = poll(
    snapshots.refresh,
    SNAPSHOT_POLL_MS,
    warn('follow the snapshot', asBefore),
  );
  const keysPoll = poll(
    keys.refresh,
    KEYS_POLL_MS,
    warn('read the keys', () =>
      keys.size() === undefined
        ? 'requests with a key are answered 503'
        : 'going on with the keys as last known',
    ),
  );
  const usageFile = keyUsageFile(environment.PORT);
  const usage = makeKeyUsage(files, usageFile, keys.all, now, Date.now);
  const usagePoll = poll(usage.write, USAGE_INTERVAL_MS, warn('report key usage', asBefore));
  const polls = [snapshotPoll, keysPoll, usagePoll];
  await Promise.all([snapshotPoll.start(), keysPoll.start()]);
  await usagePoll.start();

  limit.start();
  // Before it listens, since clients may connect at once.
  stopWith(async (signal) => {
    isStopping = true;
    log.info({ signal }, 'stopping');
    serving.announceEnd();
    peers.announceEnd();
    await new Promise((resolve) => setTimeout(resolve, NOTICE_MS));
    void snapshotPoll.stop();
    void keysPoll.stop();
    await Promise.all([serving.close(), peers.close()]);
    await usagePoll.finish();
    await handover.write({ keys: keys.windows(now()), addresses: addresses.save(now()) });
    admin.close();
    admin.closeAllConnections();
    log.info('stopped');
  });
  await listenAll([
    {
      server: admin,
      host: environment.ADMIN_HOST,
      port: environment.ADMIN_PORT,
      variables: ['ADMIN_HOST', 'ADMIN_PORT'],
    },
    {
      server,
      host: environment.HOST,
      port: environment.PORT,
      variables: ['HOST', 'PORT'],
      reusePort: threads > 1,
    },
  ]);
  if (isStopping) return;
  const { address, port } = server.address() as AddressInfo;
  await peers.listen(port, address);
  await handover.clear();
  if (isStopping) return;

  // A supervisor that reads this line may send a signal at once.
  log.info({ api: addressOf(server), admin: addressOf(admin), threads }, 'listening');
}

function makeEvents(metrics: Metrics, limit: ProxyLimit, log: Logger): SnapshotEvents {
  return {
    swapped({ id, manifest }, milliseconds) {
      metrics.countSwap(milliseconds);
      limit.setPlatforms(manifest.counts.platforms);
      log.info({ snapshot: id, ...manifest.counts, milliseconds }, 'serving a generation');
      if (manifest.minisearch_options !== MINISEARCH_OPTIONS_HASH) {
        log.warn(
          { snapshot: id, node: process.version, unicode: process.versions.unicode },
          'the generator takes words apart by other rules (another Node?): searches may miss titles',
        );
      }
      const otherCollation = findOtherCollation(manifest);
      if (otherCollation !== undefined) log.warn({ snapshot: id }, otherCollation);
    },
    refused(id, error) {
      log.error({ snapshot: id, err: error }, 'refused a generation');
    },
  };
}

function addressOf(server: Server): string {
  const { address, port } = server.address() as AddressInfo;
  return `${address}:${port}`;
}

main().catch((error: Error) => {
  process.exit(reportFailure(error, 'The proxy cannot start: '));
});
