/**
 * The path of a key from the command line through the database and the export to the proxy, and how
 * long it takes.
 */

import path from 'node:path';
import { expect, test } from 'vitest';
import { fillDatabase } from '../../../demo/catalogue/load.ts';
import { sampleCatalogue } from '../../../demo/catalogue/sample.ts';
import { runKeys } from '../../../keys/cli/run-keys.ts';
import { KINDS, makeDatabase } from '../../support/databases.ts';
import { end, makeFolder, runCommand, startProgram, startProxy } from '../../support/product.ts';
import { until } from '../support/until.ts';

const WITHIN_MS = 5_000;

test.each(KINDS)(
  'a new key is accepted, and a rotated or revoked one refused, within 5 s (%s)',
  async (kind) => {
    const DATABASE_URL = await makeDatabase(kind);
    await fillDatabase(DATABASE_URL, sampleCatalogue());
    const snapshotsDir = path.join(makeFolder(), 'snapshots');
    const environment = { DATABASE_URL, SNAPSHOTS_DIR: snapshotsDir };
    const schedule = startProgram('generator/cli/schedule.ts', [], environment);
    schedule.stdout?.resume();
    schedule.stderr?.resume();
    // The proxy gets no database address. The test polls with keys that do not work yet, or no longer.
    const proxy = await startProxy(snapshotsDir, { ADDRESS_RATE_LIMIT: '100000' });
    await until(async () => (await proxy.readyz()).status === 200);

    /** Runs a verb of `cover-catalogue keys`. @returns its stdout */
    const keys = async (...args: string[]) => {
      const { code, stdout, stderr } = await runCommand(runKeys, args, environment);
      expect(code, stderr).toBe(0);
      return stdout.trim();
    };
    const expectSoon = async (status: number, key: string) => {
      const started = performance.now();
      await until(async () => (await proxy.get('/stats', key)).status === status);
      expect(performance.now() - started).toBeLessThan(WITHIN_MS);
    };

    const first = await keys('issue', '--limit', '1000');
    expect(first).toMatch(/^cck_[0-9A-Za-z]{38}$/);
    await expectSoon(200, first);
    const [{ id }] = JSON.parse(await keys('list', '--json'));
    const second = await keys('rotate', String(id));
    await expectSoon(200, second);
    await expectSoon(401, first);
    await keys('revoke', String(id), '--reason', 'a test');
    await expectSoon(401, second);
    expect((await proxy.get('/stats', second)).text).toBe('{"error":"Invalid API key"}');

    expect(await end(schedule, 'SIGTERM')).toBe(0);
    for (const key of [first, second]) expect(proxy.log()).not.toContain(key);
    await proxy.stop();
  },
);
