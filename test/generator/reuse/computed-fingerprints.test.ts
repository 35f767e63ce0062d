/** Fingerprints that a run computes from the rows it has read are those of the server. */
import { expect, test } from 'vitest';
import type { Reader } from '../../../database/database.ts';
import { openDatabase } from '../../../database/open.ts';
import type { TimedTable } from '../../../database/schema.ts';
import { makeIds } from '../../../generator/read/table-ids.ts';
import { computeFingerprints } from '../../../generator/reuse/computed-fingerprints.ts';
import { readFingerprints } from '../../../generator/reuse/fingerprints.ts';
import { rowTime } from '../../../generator/reuse/row-times.ts';
import { TIME_COLUMN } from '../../../generator/reuse/row-tracks.ts';
import { loadCatalogue } from '../../catalogue/load.ts';
import { seededCatalogue } from '../../catalogue/seeded.ts';
import { KINDS, makeDatabase } from '../../support/databases.ts';
import { addTimes } from './random-changes.ts';

/** The SQL of a time that depends on the id. */
const TIME = {
  mysql: "'2019-12-31 22:58:57' + INTERVAL (id % 20000000) SECOND",
  sqlite: "datetime('2019-12-31 22:58:57', '+' || (id % 20000000) || ' seconds')",
};

/** Those with enough chunks. */
const TABLES = ['covers', 'cover_files'] as const;

/** Reads a table and computes its fingerprints. @returns also how many queries that has taken */
async function compute(reader: Reader, table: TimedTable) {
  const ids = makeIds();
  const times: number[] = [];
  await reader.each(`SELECT id, ${TIME_COLUMN} FROM ${table} ORDER BY id`, ([id = null, time]) => {
    ids.add(id);
    times.push(rowTime(time ?? null));
  });
  let groups = 0;
  const counting: Reader = {
    ...reader,
    rows(sql, parameters) {
      if (sql.includes('GROUP BY')) groups++;
      return reader.rows(sql, parameters);
    },
  };
  const read = { rows: ids.rows(), ids: ids.ids, times: Float64Array.from(times) };
  return { fingerprints: await computeFingerprints(counting, table, read), groups };
}

test.each(KINDS)('on %s', async (kind) => {
  const database = await openDatabase(await makeDatabase(kind));
  const { rows, run } = database;
  await loadCatalogue(database, seededCatalogue({ games: 25_000, seed: 3 }));
  await addTimes(database);
  const time = TIME[database.kind];
  const expectEqual = async (groups: number) => {
    for (const table of TABLES) {
      const computed = await compute(database, table);
      const { shift } = computed.fingerprints;
      expect(computed.fingerprints).toEqual(await readFingerprints(database, table, shift));
      expect(computed.groups).toBe(groups);
    }
  };
  for (const table of TABLES) await run(`UPDATE ${table} SET updated_at = ${time}`);
  await expectEqual(0);

  // The server computes the fingerprints of single chunks.
  for (const table of TABLES) {
    const [[id = null] = []] = await rows(`SELECT MIN(id) FROM ${table}`);
    await run(`UPDATE ${table} SET updated_at = NULL WHERE id = ?`, [id]);
  }
  await expectEqual(0);

  // The server groups all rows if too many times are unknown, or in another form.
  for (const table of TABLES) {
    await run(`UPDATE ${table} SET updated_at = NULL WHERE id % 3 = 0`);
  }
  await expectEqual(1);
  if (database.kind === 'sqlite') {
    for (const table of TABLES) {
      await run(`UPDATE ${table} SET updated_at = replace(${time}, ' ', 'T')`);
    }
    await expectEqual(1);
  }
  await database.close();
});

test.each(KINDS)('with ids beyond 2^53 on %s', async (kind) => {
  const database = await openDatabase(await makeDatabase(kind));
  await loadCatalogue(database, seededCatalogue({ games: 400, seed: 3, hugeIds: true }));
  await addTimes(database);
  const { fingerprints, groups } = await compute(database, 'games');
  expect(groups).toBe(0);
  expect(fingerprints).toEqual(await readFingerprints(database, 'games', fingerprints.shift));
  await database.close();
});
