/**
 * Runs on views over the tables of a site, as a user who may only read the views. A new definition of a
 * view reaches the next run, whether or not the user may see it.
 */
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RunResult } from '#generator/generate.ts';
import type { Database } from '#lib/database/database.ts';
import { openDatabase } from '#lib/database/open.ts';
import { CATALOGUE_TABLES } from '#lib/database/schema.ts';
import { loadTimed, run } from '#test/generator/reuse/runs.ts';
import { makeDatabase, makeDatabaseUser } from '#test/support/databases.ts';
import { catalogueHash, newSnapshots } from '#test/support/wholeness.ts';

let admin: Database;
let reader: Awaited<ReturnType<typeof makeDatabaseUser>>;
let [api, snapshotsDir] = ['', ''];

beforeEach(async () => {
  const [siteUrl, apiUrl] = [await makeDatabase('mysql'), await makeDatabase('mysql')];
  api = new URL(apiUrl).pathname.slice(1);
  admin = await openDatabase(siteUrl);
  await loadTimed(admin, 20);
  for (const table of Object.keys(CATALOGUE_TABLES)) {
    await admin.run(`CREATE VIEW ${api}.${table} AS SELECT * FROM ${table}`);
  }
  reader = await makeDatabaseUser(apiUrl);
  await reader.grant('SELECT ON *');
  snapshotsDir = newSnapshots();
});
afterEach(() => admin.close());

/** Runs once, on a new connection: a server does not apply a new grant on a database to earlier ones. */
async function runOnce(dir = snapshotsDir): Promise<RunResult> {
  const database = await openDatabase(reader.url);
  return run(database, dir).finally(() => database.close());
}

/** @returns the result of a run that has published the same as a run without any cache */
async function runAndCompare(): Promise<RunResult> {
  const other = newSnapshots();
  const [result] = [await runOnce(), await runOnce(other)];
  expect([result.outcome, catalogueHash(snapshotsDir)]).toEqual([
    'published',
    catalogueHash(other),
  ]);
  return result;
}

/** Rejects every so many covers in the view, without a change to the tables. */
async function rejectEvery(number: number): Promise<void> {
  const status = `CASE WHEN id % ${number} = 0 THEN 'rejected' ELSE status END`;
  await admin.run(
    `CREATE OR REPLACE VIEW ${api}.covers AS SELECT id, game_id, region, type, ${status} AS status, approved_at, updated_at FROM covers`,
  );
}

/** @returns why all rows were read, and the warnings */
async function reasonsOf(result: Promise<RunResult>) {
  const { readAllBecause, report } = await result;
  return [readAllBecause, report.warnings.map(({ reason }) => reason)];
}

test('without SHOW VIEW, all rows are read, with a warning that gives the fix', async () => {
  const fault = `'${reader.name}'@'%' may not see how the views cover_files, covers, games are defined`;
  const grant = `GRANT SHOW VIEW ON ${api}.* TO '${reader.name}'@'%'`;
  const warning = `All rows are read: ${fault}, so a new definition would go unnoticed. Run as an administrator: ${grant}`;
  expect(await reasonsOf(runOnce())).toEqual([fault, [warning]]);
  await rejectEvery(4);
  expect(await reasonsOf(runAndCompare())).toEqual([fault, [warning]]);

  await admin.run(grant);
  expect(await reasonsOf(runOnce())).toEqual(['nothing is known of the last run', []]);
  expect(await reasonsOf(runOnce())).toEqual([null, []]);
});

test('with SHOW VIEW, only changes are read until a view is redefined', async () => {
  await reader.grant('SHOW VIEW ON *');
  await runOnce();
  await admin.run("UPDATE covers SET status = 'rejected', updated_at = NOW() ORDER BY id LIMIT 1");
  expect(await reasonsOf(runAndCompare())).toEqual([null, []]);

  await rejectEvery(4);
  expect((await runAndCompare()).readAllBecause).toContain('a table or view was altered');

  // What was kept while the definition could be seen is not used once it cannot.
  await admin.run(`REVOKE SHOW VIEW ON ${api}.* FROM ${reader.name}`);
  await rejectEvery(3);
  expect((await runAndCompare()).readAllBecause).toContain('may not see how the views');
});
