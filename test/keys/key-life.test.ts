/** The path of a key from the command line through the database and the export to the proxy. */
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { sampleCatalogue } from '../catalogue/sample.ts';
import { makeSqlite } from '../catalogue/snapshots.ts';
import {
  end,
  makeFolder,
  runProgram,
  startProgram,
  startProxy,
  until,
} from '../support/product.ts';

const WITHIN_MS = 5_000;

describe('with the schedule and the proxy running', () => {
  test('a new key is accepted within 5 s, and a revoked one is refused within 5 s', async () => {
    const DATABASE_URL = await makeSqlite(sampleCatalogue());
    const snapshotsDir = path.join(makeFolder(), 'snapshots');
    const environment = { DATABASE_URL, SNAPSHOTS_DIR: snapshotsDir };
    const schedule = startProgram('generator/cli/schedule.ts', [], environment);
    schedule.stdout?.resume();
    schedule.stderr?.resume();
    // The proxy gets no database address.
    const proxy = await startProxy(snapshotsDir);
    await until(async () => (await proxy.readyz()).status === 200);

    const issued = await runProgram('keys/cli/main.ts', ['issue', '--limit', '1000'], environment);
    expect(issued.code).toBe(0);
    const key = issued.stdout.trim();
    expect(key).toMatch(/^cck_[0-9A-Za-z]{38}$/);
    const requestStats = () => proxy.get('/stats', key);
    expect(await timeUntil(async () => (await requestStats()).status === 200)).toBeLessThan(
      WITHIN_MS,
    );

    const { stdout } = await runProgram('keys/cli/main.ts', ['list', '--json'], environment);
    const id = String(JSON.parse(stdout)[0].id);
    const revoked = await runProgram(
      'keys/cli/main.ts',
      ['revoke', id, '--reason', 'a test'],
      environment,
    );
    expect(revoked.code).toBe(0);
    expect(await timeUntil(async () => (await requestStats()).status === 401)).toBeLessThan(
      WITHIN_MS,
    );
    expect((await requestStats()).text).toBe('{"error":"Invalid API key"}');

    expect(await end(schedule, 'SIGTERM')).toBe(0);
    expect(proxy.log()).not.toContain(key);
    await proxy.stop();
  });
});

async function timeUntil(condition: () => Promise<boolean>): Promise<number> {
  const started = performance.now();
  await until(condition);
  return performance.now() - started;
}
