/**
 * Every fault that has an alert, staged with the real programs, besides an installation in which nothing
 * is wrong. What would take minutes or hours is set back in time: files, and rows of the outbox.
 */

import { cpSync, readFileSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { runSnapshot } from '../../../../commands/run-snapshot.ts';
import { openDatabase } from '../../../../database/open.ts';
import { sampleCatalogue } from '../../../../demo/catalogue/sample.ts';
import { saveReplicaState } from '../../../../depot/replica-files.ts';
import { currentId, generationDir, pointCurrentTo } from '../../../../generations/generations.ts';
import { makeSampleSnapshots, makeSampleSqlite, makeSqlite } from '../../../catalogue/snapshots.ts';
import { makeAccounts, makeVisitor, startPages } from '../../../support/account.ts';
import { withOpenFiles } from '../../../support/processes.ts';
import {
  end,
  makeFolder,
  runCommand,
  send,
  startProxyProgram,
  testKey,
  writeKeys,
} from '../../../support/product.ts';
import { newSigningKey } from '../../../support/replicas.ts';
import { makeCertificate } from '../../../support/servers/nginx.ts';
import { freePort } from '../../../support/servers/ports.ts';
import { openSocket } from '../../../support/servers/sockets.ts';
import { freeKilobytes, mountSmallDisk } from '../../support/small-disk.ts';
import { until } from '../../support/until.ts';
import { type Installation, startInstallation, startWithAdmin } from './installation.ts';

const HOUR_MS = 3_600_000;

/** A fault: the admin address or site at which it is, and the alerts that must fire there. */
export interface StagedFault {
  readonly job: string;
  readonly instance: string;
  readonly alerts: readonly string[];
  /** What must happen once Prometheus has seen the admin address without the fault. */
  readonly begin?: () => void;
}

/** Starts the installation without faults. Its schedule runs every three seconds. */
export function startHealthy(): Promise<Installation> {
  return startInstallation({ GENERATE_CRON: '*/3 * * * * *' });
}

/** @param healthy an installation, whose depot another replica follows */
export async function stageFaults(healthy: Installation): Promise<StagedFault[]> {
  return (
    await Promise.all([
      stageCrowdedProxy(),
      stageStaleProxy(),
      stageKilledProxy(),
      stageGoneKeys(),
      stageRefusingReplica(healthy),
      stageRefusedRuns(),
      stageFailingRuns(),
      stageFullDisk(),
      stageBrokenAccount(),
      stageWaitingMail(),
      stageSites(),
    ])
  ).flat();
}

/** A proxy with too few files for its clients, many invalid keys, no limits store, and a hold. */
async function stageCrowdedProxy(): Promise<StagedFault> {
  const dir = await makeSampleSnapshots([testKey(1)]);
  await runCommand(runSnapshot, ['hold', '--reason', 'a test'], { SNAPSHOTS_DIR: dir });
  const LIMITS_URL = `redis://127.0.0.1:${await freePort()}`;
  const proxy = await startProxyProgram(dir, { LIMITS_URL }, withOpenFiles(150));
  const openConnection = async () => {
    (await openSocket(proxy.port)).on('error', () => {}).unref();
  };
  await Promise.all(Array.from({ length: 100 }, openConnection));
  keepDoing(openConnection);
  keepDoing(() => send(`${proxy.url}/api/v1/platforms`));
  return {
    job: 'proxy',
    instance: proxy.listening.admin ?? '',
    alerts: [
      'ManyRefusals',
      'SlowResponses',
      'ConnectionsFull',
      'LimitsStoreDown',
      'Held',
      'ProxyMemory',
    ],
  };
}

/** A proxy under maintenance, whose data, keys and replica are hours old, and whose newest generation is damaged. */
async function stageStaleProxy(): Promise<StagedFault> {
  const dir = await makeSampleSnapshots([testKey(1)]);
  const id = currentId(dir) ?? '';
  const old = new Date(Date.now() - 2 * HOUR_MS);
  const status = path.join(dir, 'status.json');
  const content = JSON.parse(readFileSync(status, 'utf8'));
  writeFileSync(status, JSON.stringify({ ...content, current_as_of: old.toISOString() }));
  utimesSync(path.join(dir, 'keys.json'), old, old);
  saveReplicaState(dir, {
    snapshot: {
      from: 'a depot',
      current_as_of: old.toISOString(),
      error: null,
      refused: null,
      id,
      published_at: old.toISOString(),
    },
    keys: null,
  });
  const proxy = await startProxyProgram(dir);
  const damaged = '000002-0123456789ab';
  cpSync(generationDir(dir, id), generationDir(dir, damaged), { recursive: true });
  truncateSync(path.join(generationDir(dir, damaged), 'manifest.json'), 100);
  pointCurrentTo(dir, damaged);
  writeFileSync(path.join(dir, 'maintenance'), '600');
  return {
    job: 'proxy',
    instance: proxy.listening.admin ?? '',
    alerts: ['Maintenance', 'Stale', 'KeysStale', 'GenerationRefused', 'ReplicaBehind'],
  };
}

async function stageKilledProxy(): Promise<StagedFault> {
  const proxy = await startProxyProgram(await makeSampleSnapshots());
  await end(proxy.child, 'SIGKILL');
  return { job: 'proxy', instance: proxy.listening.admin ?? '', alerts: ['ProxyDown'] };
}

/** A proxy whose keys file becomes empty, as after an export of an empty table. */
async function stageGoneKeys(): Promise<StagedFault> {
  const dir = await makeSampleSnapshots([testKey(1)]);
  const proxy = await startProxyProgram(dir);
  return {
    job: 'proxy',
    instance: proxy.listening.admin ?? '',
    alerts: ['KeysGone'],
    begin: () => writeKeys(dir, []),
  };
}

/** A replica that requires signatures, of a depot without any, and the proxy that has nothing to serve. */
async function stageRefusingReplica(healthy: Installation): Promise<StagedFault[]> {
  const dir = path.join(makeFolder(), 'snapshots');
  const replica = await startWithAdmin('commands/replica.ts', 'replicating', {
    REPLICA_FROM: healthy.depotDir,
    SNAPSHOTS_DIR: dir,
    SNAPSHOT_PUBLIC_KEYS: newSigningKey().publicPem,
  });
  const proxy = await startProxyProgram(dir);
  keepDoing(() =>
    send(`${proxy.url}/api/v1/platforms`, { headers: { 'x-api-key': testKey(1).key } }),
  );
  return [
    { job: 'replica', instance: replica.admin, alerts: ['TaskFails'] },
    {
      job: 'proxy',
      instance: proxy.listening.admin ?? '',
      alerts: ['ReplicaRefuses', 'ProxyNotReady', 'ServerErrors'],
    },
  ];
}

/** A schedule whose database has games but no covers. */
async function stageRefusedRuns(): Promise<StagedFault> {
  const databaseUrl = await makeSqlite({ ...sampleCatalogue(), covers: [], coverFiles: [] });
  const { admin } = await startSchedule(databaseUrl, path.join(makeFolder(), 'snapshots'));
  return { job: 'schedule', instance: admin, alerts: ['RunRefused'] };
}

/** A schedule whose database has no tables, and one that was killed. */
async function stageFailingRuns(): Promise<StagedFault[]> {
  const folder = makeFolder();
  await (await openDatabase(`sqlite:${folder}/empty.db`, { create: true })).close();
  const failing = await startSchedule(`sqlite:${folder}/empty.db`, path.join(folder, 'snapshots'));
  const killed = await startSchedule(`sqlite:${folder}/empty.db`, path.join(folder, 'others'));
  await end(killed.child, 'SIGKILL');
  return [
    { job: 'schedule', instance: failing.admin, alerts: ['RunsFail'] },
    { job: 'schedule', instance: killed.admin, alerts: ['ProgramDown'] },
  ];
}

/** A schedule on a full disk. It does not generate: the lock of a run cannot be on the disk of a test. */
async function stageFullDisk(): Promise<StagedFault[]> {
  const disk = await mountSmallDisk(16_000);
  // Mounting is not allowed on every machine.
  if (disk === undefined) return [];
  const snapshotsDir = path.join(disk.root, 'snapshots');
  cpSync(await makeSampleSnapshots(), snapshotsDir, { recursive: true, verbatimSymlinks: true });
  const { admin } = await startSchedule(await makeSampleSqlite(), snapshotsDir, 'off');
  const filler = Buffer.alloc((freeKilobytes(disk.root) - 100) * 1024);
  writeFileSync(path.join(disk.root, 'filler'), filler);
  return [{ job: 'schedule', instance: admin, alerts: ['DiskFullSoon'] }];
}

function startSchedule(databaseUrl: string, snapshotsDir: string, cron = '*/15 * * * *') {
  return startWithAdmin('generator/cli/schedule.ts', 'scheduled', {
    DATABASE_URL: databaseUrl,
    SNAPSHOTS_DIR: snapshotsDir,
    GENERATE_CRON: cron,
  });
}

/** Account pages whose table of keys is gone. */
async function stageBrokenAccount(): Promise<StagedFault> {
  const databaseUrl = await makeSampleSqlite();
  await makeAccounts(databaseUrl);
  const pages = await startPages(databaseUrl, {
    MAIL_FOLDER: makeFolder(),
  });
  const database = await openDatabase(databaseUrl);
  await database.run('ALTER TABLE api_keys RENAME TO elsewhere');
  await database.close();
  return { job: 'account', instance: pages.listening.admin ?? '', alerts: ['DatabaseDown'] };
}

/** Account pages without a mail server, and an e-mail that was queued an hour ago. */
async function stageWaitingMail(): Promise<StagedFault> {
  const databaseUrl = await makeSampleSqlite();
  await makeAccounts(databaseUrl);
  const pages = await startPages(databaseUrl, {
    SMTP_URL: `smtp://127.0.0.1:${await freePort()}`,
  });
  const visitor = makeVisitor(pages.url);
  await visitor.get('/account/sign-in');
  await visitor.post('/account/sign-in', { email: 'owner@covers.example' });
  const database = await openDatabase(databaseUrl);
  const hourAgo = new Date(Date.now() - HOUR_MS).toISOString().slice(0, 19).replace('T', ' ');
  await until(async () => {
    const { changes } = await database.run('UPDATE mail_outbox SET created_at = ?', [hourAgo]);
    return changes === 1;
  });
  await database.close();
  return { job: 'account', instance: pages.listening.admin ?? '', alerts: ['MailWaits'] };
}

/** A site whose certificate expires within a day, and one that does not answer. */
async function stageSites(): Promise<StagedFault[]> {
  const { address } = await startSite();
  return [
    { job: 'site', instance: address, alerts: ['CertificateExpires', 'CertificateExpired'] },
    { job: 'site', instance: `https://127.0.0.1:${await freePort()}/`, alerts: ['SiteDown'] },
  ];
}

/** Starts a site that answers every request, with a certificate of one day. It ends with this process. */
export async function startSite(): Promise<{ readonly address: string }> {
  const folder = makeFolder();
  const [certificate, key] = [path.join(folder, 'certificate.pem'), path.join(folder, 'key.pem')];
  await makeCertificate('localhost', certificate, key, 1);
  const tls = { cert: readFileSync(certificate), key: readFileSync(key) };
  const server = createServer(tls, (_request, response) => response.end('a page'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  server.unref();
  const { port } = server.address() as AddressInfo;
  return { address: `https://127.0.0.1:${port}/` };
}

/** Repeats a request ten times a second, until the tests end. */
function keepDoing(work: () => Promise<unknown>): void {
  setInterval(() => void work().catch(() => {}), 100).unref();
}
