/**
 * How the tests run: with the Node that the product needs, each file in its own process.
 *
 *     npm test            behaviour, whose files share one private MariaDB server, and measured
 *     npm run test:quick  without the slow files and those that need a Debian package
 *     npm run soak        the tests of guarantees with all their rounds, one file at a time
 */
import './program/environment/node-version.ts';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import fastGlob from 'fast-glob';
import { defineConfig } from 'vitest/config';
import { IS_SOAK } from './test/support/rounds.ts';

const IS_QUICK = process.env.QUICK === '1';

/** These compare times, so nothing may run at the same time. They have no MariaDB server. */
const MEASURED = [
  'test/guarantees/slow-clients.test.ts',
  'test/guarantees/search-abuse.test.ts',
  'test/proxy/downloads/large-downloads.test.ts',
];

/** A file that imports one of these, directly or not, needs a Debian package. */
const DEBIAN_SERVERS = [
  'test/operations/services/podman.ts',
  'test/operations/services/systemd.ts',
  'test/support/servers/mariadb.ts',
  'test/support/servers/nginx.ts',
  'test/support/servers/redis.ts',
  'test/operations/monitoring/prometheus.ts',
  'test/support/browser.ts',
];

/** Too slow for `npm run test:quick`: more than about five seconds each. */
const SLOW = [
  'test/client/client.test.ts',
  'test/commands/replica.test.ts',
  'test/doctor/doctor.test.ts',
  'test/format/fixtures.test.ts',
  'test/generator/collation-versions.test.ts',
  'test/generator/letter-case.test.ts',
  'test/generator/report.test.ts',
  'test/keys/key-life.test.ts',
  'test/program/configuration.test.ts',
  'test/program/odd-files.test.ts',
  'test/program/stop.test.ts',
  'test/project/demo.test.ts',
  'test/project/executable.test.ts',
  'test/proxy/access-log/access-log.test.ts',
  'test/proxy/access-log/slow-disk.test.ts',
  'test/proxy/admin/request-metrics.test.ts',
  'test/proxy/changes/changes-http.test.ts',
  'test/proxy/changes/serving-pause.test.ts',
  'test/proxy/downloads/downloads.test.ts',
  'test/proxy/explore/explorer.test.ts',
  'test/proxy/http/connections.test.ts',
  'test/proxy/http/failed-requests.test.ts',
  'test/proxy/http/fast-path.test.ts',
  'test/proxy/http/request-id.test.ts',
  'test/proxy/keys/missing-keys.test.ts',
  'test/proxy/limits/limit.test.ts',
  'test/proxy/search/judged.test.ts',
  'test/proxy/search/search-agreement.test.ts',
  'test/proxy/maintenance.test.ts',
  'test/proxy/site/docs/examples.test.ts',
  'test/proxy/site/forward.test.ts',
  'test/proxy/snapshot/data-age.test.ts',
  'test/proxy/snapshot/replaced-generation.test.ts',
  'test/proxy/workers/threads.test.ts',
  'test/store/changes/write-difference.test.ts',
  'test/store/file-permissions.test.ts',
  'test/store/hold-damaged.test.ts',
  'test/store/hold-rollback.test.ts',
  'test/store/hold.test.ts',
  'test/store/odd-snapshots-folder.test.ts',
  'test/store/pull/pull.test.ts',
  'test/store/push/push-cli.test.ts',
  'test/store/push/push.test.ts',
  'test/store/replica/replica.test.ts',
  'test/store/snapshot-cli.test.ts',
  'test/store/two-users.test.ts',
];

const files = fastGlob.sync('test/**/*.test.ts', {
  cwd: import.meta.dirname,
  ignore: ['test/bench/**', '**/node_modules/**'],
});

for (const file of [...MEASURED, ...SLOW]) {
  if (!files.includes(file))
    throw new Error(`vitest.config.ts lists ${file}, which does not exist.`);
}

function textOf(file: string): string {
  return readFileSync(path.join(import.meta.dirname, file), 'utf8');
}

function isFile(file: string): boolean {
  return existsSync(path.join(import.meta.dirname, file));
}

/** Files of the tests that a file imports, directly or through others. */
function testFilesBehind(file: string, found = new Set<string>()): Set<string> {
  for (const [, specifier] of textOf(file).matchAll(/ from '(\.[^']+)'/g)) {
    const imported = path.posix.join(path.posix.dirname(file), specifier);
    if (!imported.startsWith('test/') || found.has(imported) || !isFile(imported)) continue;
    found.add(imported);
    testFilesBehind(imported, found);
  }
  return found;
}

/** Whether a file tests a guarantee, with fewer rounds in `npm test` than in `npm run soak`. */
function hasFullForm(file: string): boolean {
  return textOf(file).includes("/rounds.ts'");
}

function isQuick(file: string): boolean {
  if (SLOW.includes(file) || MEASURED.includes(file) || hasFullForm(file)) return false;
  const behind = testFilesBehind(file);
  return !DEBIAN_SERVERS.some((server) => behind.has(server));
}

const GLOBAL_SETUP = ['test/support/global-setup.ts'];
const shared = {
  // Only after a crash of Chromium, as `startChromium` explains.
  retry: { count: 2, condition: /Target page, context or browser has been closed/ },
};

const everyTest = [
  {
    extends: true as const,
    test: {
      ...shared,
      name: 'behaviour',
      globalSetup: GLOBAL_SETUP,
      include: files.filter((file) => !MEASURED.includes(file)),
      // More than the two cores of the smallest machine, since most tests wait for another process.
      maxWorkers: 3,
      sequence: { groupOrder: 0 },
    },
  },
  {
    extends: true as const,
    test: {
      ...shared,
      name: 'measured',
      include: MEASURED,
      fileParallelism: false,
      sequence: { groupOrder: 1 },
    },
  },
];

const soak = [
  {
    extends: true as const,
    test: {
      ...shared,
      name: 'soak',
      globalSetup: GLOBAL_SETUP,
      include: files.filter(hasFullForm),
      fileParallelism: false,
    },
  },
];

const quick = [
  {
    extends: true as const,
    test: { name: 'quick', include: files.filter(isQuick), maxWorkers: 2 },
  },
];

export default defineConfig({
  test: {
    pool: 'forks',
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // A test that asserts nothing fails.
    expect: { requireAssertions: true },
    reporters: ['default', './test/support/project-times.ts'],
    projects: IS_SOAK ? soak : IS_QUICK ? quick : everyTest,
  },
});
