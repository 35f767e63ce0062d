/**
 * No partial export is ever published: a run whose connection is cut, or whose tables are altered while it
 * reads, publishes nothing and gives the reason. `test/soak/generator/cut-connection.test.ts` cuts at any byte.
 */
import { expect, test } from 'vitest';
import type { Database } from '#lib/database/database.ts';
import { openDatabase } from '#lib/database/open.ts';
import { currentId, idsOnDisk } from '#lib/generations/generations.ts';
import { plainCatalogue } from '#test/catalogue/plain.ts';
import { makeLoaded } from '#test/catalogue/snapshots.ts';
import { measureWhole, startCutter } from '#test/generator/cut-runs.ts';
import { run } from '#test/generator/reuse/runs.ts';
import { change } from '#test/support/databases.ts';
import type { Cut } from '#test/support/servers/tcp-proxy.ts';
import {
  expectNoDebris,
  expectOneClearLine,
  newSnapshots,
  runGenerator,
} from '#test/support/wholeness.ts';

const makeSite = () => makeLoaded('mysql', plainCatalogue(300));

test.each<[Cut, number]>([
  // While a session is prepared, and while rows are read.
  ['reset', 0.1],
  ['end', 0.5],
  ['silence', 0.8],
])('a connection that is cut (%s) after this share of its bytes: %d', async (how, share) => {
  const site = await makeSite();
  const { bytes } = await measureWhole(site);
  const [url, proxy] = await startCutter(site, Math.floor(share * bytes));
  const dir = newSnapshots();
  const running = runGenerator(url, dir);
  await proxy.reached;
  proxy.cut(how, true);
  expect(expectOneClearLine(await running)).toMatch(/127\.0\.0\.1:\d+/);
  await proxy.stop();
  expect([idsOnDisk(dir), currentId(dir)]).toEqual([[], undefined]);
});

test.each([
  ['ALTER TABLE covers FORCE', 'Table definition has changed'],
  ['TRUNCATE TABLE covers', 'Table definition has changed'],
  ['DROP TABLE covers', "covers' doesn't exist"],
])('%s between the begin of the snapshot and its read', async (ddl, fault) => {
  const url = await makeSite();
  const database = await openDatabase(url);
  const snapshot: Database['snapshot'] = (read) =>
    database.snapshot(async (reader) => {
      await change(url, ddl);
      return read(reader);
    });
  const dir = newSnapshots();
  await expect(run({ ...database, snapshot }, dir)).rejects.toThrow(fault);
  expect(idsOnDisk(dir)).toEqual([]);
  expectNoDebris(dir);
  await database.close();
});
