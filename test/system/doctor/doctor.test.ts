/** `cover-catalogue doctor` on SQLite: what it finds, what it prints, and what it leaves alone. */

import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runPush } from '../../../commands/run-push.ts';
import { runSnapshot } from '../../../commands/run-snapshot.ts';
import { openDatabase } from '../../../database/open.ts';
import { depots, limits } from '../../../doctor/checks/depots.ts';
import { folder } from '../../../doctor/checks/folder.ts';
import { mail } from '../../../doctor/checks/mail.ts';
import { publishing } from '../../../doctor/checks/publishing.ts';
import { account, proxy, schedule } from '../../../doctor/checks/running.ts';
import { runDoctor } from '../../../doctor/run-doctor.ts';
import { runGenerator } from '../../../generator/cli/run-generator.ts';
import { exportKeys } from '../../../generator/keys/export-keys.ts';
import { runKeys } from '../../../keys/cli/run-keys.ts';
import { createKeysTables } from '../../../keys/tables/schema.ts';
import { makeProgramAdmin } from '../../../program/admin/program-admin.ts';
import { makeSampleSnapshots, makeSampleSqlite } from '../../catalogue/snapshots.ts';
import { diagnose, examine, faultsIn } from '../../doctor/installation.ts';
import { openPages } from '../../support/account.ts';
import {
  generate,
  makeFolder,
  runCommand,
  startProxy,
  testKey,
  writeKeys,
} from '../../support/product.ts';
import { startMailServer } from '../../support/servers/mail-server.ts';
import { freePort } from '../../support/servers/ports.ts';

const SECRET = 'f3a9c4d17b6e58209ad4';

let databaseUrl: string;
let snapshotsDir: string;
let environment: Record<string, string>;
let servers: Server[] = [];
let sockets: Socket[] = [];

beforeEach(async () => {
  databaseUrl = await makeSampleSqlite();
  const database = await openDatabase(databaseUrl);
  await createKeysTables(database);
  await database.close();
  snapshotsDir = path.join(makeFolder(), 'snapshots');
  environment = {
    DATABASE_URL: databaseUrl,
    SNAPSHOTS_DIR: snapshotsDir,
    ADMIN_PORT: String(await freePort()),
    ACCOUNT_PORT: String(await freePort()),
  };
});
afterEach(() => {
  for (const server of servers) server.close();
  for (const socket of sockets) socket.destroy();
  servers = [];
  sockets = [];
});

/** The files of the database and of the snapshots folder, with their contents. */
function everything(): [name: string, bytes: string][] {
  const folders = [path.dirname(databaseUrl.slice('sqlite:'.length)), snapshotsDir];
  return folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !/-(?:wal|shm)$/.test(entry.name))
      .map((entry): [string, string] => {
        const file = path.join(entry.parentPath, entry.name);
        return [file, readFileSync(file, 'base64')];
      }),
  );
}

test('a complete installation has no errors, and the doctor changes nothing', async () => {
  await generate(databaseUrl, snapshotsDir);
  await runCommand(runKeys, ['issue'], environment);
  const database = await openDatabase(databaseUrl);
  await exportKeys(database, snapshotsDir);
  await database.close();
  const api = await startProxy(snapshotsDir);
  const pages = await openPages(databaseUrl, {
    ADMIN_PORT: new URL(api.adminUrl).port,
    MAIL_FOLDER: makeFolder(),
  });
  const ADMIN_PORT = Number(new URL(api.adminUrl).port);
  const settings = { ADMIN_HOST: '127.0.0.1', ADMIN_PORT };
  const scheduleAdmin = makeProgramAdmin({ program: 'schedule', settings });
  await scheduleAdmin.listen();
  const running = {
    ...environment,
    ADMIN_PORT: String(ADMIN_PORT),
    ACCOUNT_PORT: String(pages.port),
  };
  const before = everything();
  const found = await diagnose(running);
  expect(everything()).toEqual(before);
  expect([found.code, found.worst, found.stderr]).toEqual([0, 'warning', '']);
  expect(found.of('running proxy', 'all')).toEqual([
    {
      level: 'ok',
      text: expect.stringMatching(/^The proxy serves 000001-\w+ and knows 1 keys\.$/),
    },
  ]);
  expect(found.of('running account pages', 'all')).toMatchObject([
    { level: 'ok', text: expect.stringContaining('The account pages answer') },
    { level: 'ok', text: '"cover-catalogue account" runs, and nothing fails.' },
  ]);
  expect(found.of('snapshots folder')).toEqual([]);
  expect(found.of('publishing', 'all')).toMatchObject([{ level: 'ok' }]);
  // Everything that is not in order has a fix.
  const findings = found.names.flatMap((name) => found.of(name));
  expect(findings.filter(({ fix = '' }) => fix === '')).toEqual([]);
  await api.stop();
  scheduleAdmin.close();

  const broken = await openDatabase(databaseUrl);
  await broken.run('DROP TABLE api_keys');
  await broken.close();
  expect(await examine(account, running)).toContainEqual({
    level: 'error',
    text: '"cover-catalogue account" cannot read the database.',
    fix: expect.stringContaining('database-lost.md'),
  });
  await pages.stop();
});

test('three games are shown exactly as the API sends them later', async () => {
  const found = await diagnose(environment);
  const shown = found.of('sample records', 'all')[0]?.data as { id: number }[];
  expect(shown).toHaveLength(3);
  const settings = { DATABASE_URL: databaseUrl, SNAPSHOTS_DIR: snapshotsDir };
  await runCommand(runGenerator, [], settings);
  const ids = shown.map(({ id }) => id).join(',');
  const served = await runCommand(
    runSnapshot,
    ['show', `/games?ids=${ids}&include=cover`],
    settings,
  );
  expect(shown).toEqual(JSON.parse(served.stdout).data);
});

test('all checks run after the first has failed, and every fault of the configuration is named', async () => {
  const found = await diagnose({
    ...environment,
    DATABASE_URL: 'sqlite:/no/such/file.db',
    PORT: '99999',
    GENERATE_CRON: 'hourly',
    MAIL_FROM: 'nobody',
    KEYS_DEPOT: '/srv/keys/private',
    SNAPSHOT_PUSH: '/srv/keys',
  });
  expect([found.code, found.worst]).toEqual([1, 'error']);
  const texts = found.of('configuration').map(({ text }) => text);
  for (const name of ['PORT', 'GENERATE_CRON', 'MAIL_FROM', 'KEYS_DEPOT']) {
    expect(texts).toContainEqual(expect.stringMatching(new RegExp(`^${name} `)));
  }
  expect(found.of('database')).toMatchObject([
    { level: 'error', text: expect.stringContaining('There is no database file') },
  ]);
  for (const name of ['catalogue tables', 'grants', 'sample records', 'tables of API keys']) {
    expect(found.of(name)).toMatchObject([
      { level: 'skipped', fix: expect.stringContaining('"database"') },
    ]);
  }
  expect(found.names.at(-1)).toBe('running account pages');
});

describe('secrets', () => {
  test('are in no output, neither in findings nor in what servers say', async () => {
    const jwt = 'b7d1e0a94c5f42e68b3a7791d0c6f2e5';
    const [smtp, redis] = [await freePort(), await freePort()];
    const finished = await runCommand(runDoctor, [], {
      ...environment,
      DATABASE_URL: `mysql://covers:${SECRET}@127.0.0.1:${await freePort()}/catalogue`,
      SMTP_URL: `smtp://covers:${SECRET}@127.0.0.1:${smtp}`,
      LIMITS_URL: `redis://:${SECRET}@127.0.0.1:${redis}`,
      SITE_JWT_SECRET: jwt,
      SNAPSHOT_SIGNING_KEY: `cover-catalogue-private-key:${SECRET}`,
      AWS_ACCESS_KEY_ID: `id${SECRET}`,
      AWS_SECRET_ACCESS_KEY: SECRET,
      SNAPSHOT_PUSH: `https://covers:${SECRET}@store.catalogue.net/x`,
      REPLICA_FROM: `https://covers:${SECRET}@store.catalogue.net/x`,
      SITE_URL: `https://covers:${SECRET}@catalogue.net`,
    });
    expect(finished.code).toBe(1);
    const output = finished.stdout + finished.stderr;
    expect(output).toContain('The mail server');
    expect(output).toContain('The server of LIMITS_URL');
    expect(output).not.toContain(SECRET);
    expect(output).not.toContain(jwt);
  });
});

describe('a check', () => {
  test('of servers that accept connections and never answer ends', async () => {
    const server = createServer((socket) => {
      sockets.push(socket);
      socket.on('error', () => {});
    });
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const silent = {
      ...environment,
      ADMIN_PORT: String(port),
      LIMITS_URL: `redis://127.0.0.1:${port}`,
    };
    const [running, shared] = await Promise.all([examine(proxy, silent), examine(limits, silent)]);
    expect(running).toMatchObject([
      { level: 'error', text: expect.stringContaining('did not answer within') },
    ]);
    expect(shared).toMatchObject([{ level: 'error' }]);
  });

  test('of the catalogue names what is missing, unknown statuses, and rows that would be left out', async () => {
    const database = await openDatabase(databaseUrl);
    await database.run('UPDATE covers SET status = ?', ['App\u001b[31mroved']);
    await database.run("UPDATE games SET slug = 'a b' WHERE id = 1001");
    const statuses = await diagnose(environment);
    expect(statuses.of('catalogue tables').map(({ level, text }) => [level, text])).toEqual([
      ['warning', expect.stringContaining('"App\\u001b[31mroved"')],
      ['error', expect.stringContaining('No cover has the status "approved"')],
    ]);
    expect(statuses.of('sample records')).toContainEqual({
      level: 'warning',
      text: expect.stringContaining('slug does not fit a path'),
      fix: expect.any(String),
    });
    const text = await runCommand(runDoctor, [], environment);
    expect(text.stdout).not.toContain('\u001b');
    await database.run('ALTER TABLE games DROP COLUMN publisher');
    await database.run('DROP TABLE cover_files');
    await database.close();
    const missing = await diagnose(environment);
    expect(missing.of('catalogue tables')).toMatchObject([
      { level: 'error', text: expect.stringMatching(/cover_files.*games\.publisher/) },
    ]);
    expect(missing.of('sample records')).toMatchObject([{ level: 'error' }]);
  });

  test('of the last run says why it was refused', async () => {
    environment.SNAPSHOTS_DIR = snapshotsDir = await makeSampleSnapshots();
    const database = await openDatabase(databaseUrl);
    await database.run('DELETE FROM games WHERE id > 1010');
    await database.close();
    const settings = { DATABASE_URL: databaseUrl, SNAPSHOTS_DIR: snapshotsDir };
    expect((await runCommand(runGenerator, [], settings)).code).toBe(3);
    expect(await examine(publishing, environment)).toMatchObject([
      { level: 'error', text: expect.stringContaining('was refused: Nothing is published') },
    ]);
  });

  test('of the data warns when the alert about old data would fire', async () => {
    environment.SNAPSHOTS_DIR = snapshotsDir = await makeSampleSnapshots();
    const file = path.join(snapshotsDir, 'status.json');
    const status = JSON.parse(readFileSync(file, 'utf8'));
    const foundAfter = async (minutes: number) => {
      const current_as_of = new Date(Date.now() - minutes * 60_000).toISOString();
      writeFileSync(file, JSON.stringify({ ...status, current_as_of }));
      return faultsIn(await examine(publishing, environment));
    };
    expect(await foundAfter(59)).toEqual([]);
    expect(await foundAfter(61)).toMatchObject([
      { level: 'warning', text: expect.stringContaining('should have started a run at') },
    ]);
    // With rarer runs, older data is as it should be.
    const afternoon = new Date(Date.now() + 12 * 3_600_000).getUTCHours();
    environment.GENERATE_CRON = `0 ${afternoon} * * *`;
    expect(await foundAfter(61)).toEqual([]);
    expect(await foundAfter(25 * 60)).toMatchObject([{ level: 'warning' }]);
  });

  test('of a running program says which of its tasks fails, and why', async () => {
    const admin = makeProgramAdmin({
      program: 'schedule',
      settings: { ADMIN_HOST: '127.0.0.1', ADMIN_PORT: 0 },
    });
    const fail = admin.tasks.observe('export_keys', () => Promise.reject(new Error('no database')));
    const address = await admin.listen();
    // The schedule listens five ports above ADMIN_PORT.
    const settings = { ...environment, ADMIN_PORT: String(Number(address.split(':').at(-1)) - 5) };
    expect(faultsIn(await examine(schedule, settings))).toEqual([]);
    await expect(fail()).rejects.toThrow();
    expect(await examine(schedule, settings)).toContainEqual({
      level: 'error',
      text: '"cover-catalogue schedule" fails at "export_keys": no database',
      fix: expect.any(String),
    });
    admin.close();
    expect(await examine(schedule, settings)).toMatchObject([
      { level: 'error', text: expect.stringContaining('cannot be reached') },
    ]);
  });

  test('of the folder finds what the user of the proxy may not read', async () => {
    environment.SNAPSHOTS_DIR = snapshotsDir = await makeSampleSnapshots();
    writeKeys(snapshotsDir, [testKey(1)]);
    chmodSync(path.dirname(snapshotsDir), 0o755);
    const denied = faultsIn(await examine(folder, environment, { proxyUser: 'nobody' }));
    expect(denied).toMatchObject([
      { level: 'error', text: expect.stringContaining(`${snapshotsDir}, which has mode 0700`) },
    ]);
    chmodSync(snapshotsDir, 0o755);
    chmodSync(path.join(snapshotsDir, 'generations'), 0o755);
    chmodSync(path.join(snapshotsDir, 'keys.json'), 0o644);
    const texts = faultsIn(await examine(folder, environment, { proxyUser: 'nobody' }));
    expect(texts.map(({ text }) => text)).toEqual([
      expect.stringContaining('keys.json can be used by every user'),
      expect.stringMatching(/may not enter .*\/generations\/000001-\w+, which has mode 0700/),
    ]);
    const unknown = await diagnose(environment, ['--proxy-user', 'no-such-user']);
    expect(unknown.of('snapshots folder')).toContainEqual(
      expect.objectContaining({ text: expect.stringContaining('There is no user "no-such-user"') }),
    );
  });

  test('of the mail server signs in and sends nothing', async () => {
    const server = await startMailServer();
    const good = await examine(mail, { ...environment, SMTP_URL: server.url });
    expect(good).toMatchObject([{ level: 'ok' }]);
    expect(server.mails).toEqual([]);
    await server.stop();
    const gone = await examine(mail, { ...environment, SMTP_URL: server.url });
    expect(gone).toMatchObject([{ level: 'error', text: expect.stringContaining('ECONNREFUSED') }]);
  });

  test('of depots compares the release with the current generation', async () => {
    environment.SNAPSHOTS_DIR = snapshotsDir = await makeSampleSnapshots();
    const depot = makeFolder();
    const settings = { ...environment, SNAPSHOT_PUSH: depot };
    expect(faultsIn(await examine(depots, settings))).toMatchObject([
      { level: 'warning', text: expect.stringContaining('nothing was pushed') },
    ]);
    expect(readdirSync(depot)).toEqual([]);
    await runCommand(runPush, [], settings);
    expect(faultsIn(await examine(depots, settings))).toEqual([]);
    const gone = await examine(depots, { ...settings, SNAPSHOT_PUSH: path.join(depot, 'gone') });
    expect(gone).toMatchObject([{ level: 'error' }]);
  });
});

test('a proxy without a database needs no DATABASE_URL', async () => {
  const { DATABASE_URL: _, ...rest } = environment;
  const found = await diagnose(rest, ['--for', 'proxy', '--strict']);
  expect(found.names).not.toContain('database');
  expect(found.of('configuration').filter(({ level }) => level === 'error')).toEqual([]);
  // With --strict, warnings end with 1.
  expect([found.worst, found.code]).toEqual(['warning', 1]);
});

test('wrong arguments end with 2', async () => {
  const wrong = await runCommand(runDoctor, ['--for', 'nginx'], {});
  expect([wrong.code, wrong.stdout]).toEqual([2, '']);
  expect(wrong.stderr).toContain('"nginx"');
});
