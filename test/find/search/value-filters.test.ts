/**
 * Each filter of the table, from the database to the answer: read, kept by a run that does not read its row again,
 * found by the whole value or a part of it, and counted if it is a facet. `check.test.ts` damages each list.
 */
import { closeSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { loadCatalogue } from '#demo/catalogue/load.ts';
import { FACETS, type FacetName } from '#find/search/query.ts';
import { filterRow, VALUE_FILTER_NAMES, type ValueFilter } from '#find/search/value-filters.ts';
import { openDatabase } from '#lib/database/open.ts';
import { CURRENT } from '#lib/format/layout.ts';
import { searchOf } from '#proxy/api/parameters.ts';
import { makeGeneration } from '#proxy/snapshot/generation.ts';
import { openFiles } from '#proxy/snapshot/open-files.ts';
import { plainCatalogue } from '#test/catalogue/plain.ts';
import { addTimes } from '#test/generator/reuse/random-changes.ts';
import { run } from '#test/generator/reuse/runs.ts';
import { makeDatabase } from '#test/support/databases.ts';
import { newSnapshots } from '#test/support/wholeness.ts';

const GAMES = 40;
/** What the first game has in the column of each filter, and nobody else. */
const oddValue = (name: ValueFilter) => `Odd ${name}, Rare ${name}`;

/** @returns a function that returns the ids of the games that a search finds, and a facet of it */
function openCurrent(snapshotsDir: string) {
  const dir = realpathSync(path.join(snapshotsDir, CURRENT));
  const files = openFiles({ dir, id: path.basename(dir) });
  const { search, index } = makeGeneration(files);
  files.descriptors.forEach(closeSync);
  return (name: ValueFilter, value: string) => {
    const query = searchOf(new Map([[name, value]]));
    const facets = FACETS.filter((facet): facet is FacetName & ValueFilter => facet === name);
    return {
      ids: search.find(query, 0, GAMES).ranks.map((rank) => {
        const game = index.games.gameOfRank[rank];
        return index.games.idLow[index.games.numberOfId.indexOf(game)];
      }),
      counted: search.countFacets(query, facets)[facets[0] ?? 'year'],
    };
  };
}

test('each filter finds the game with a value, in any case, also if its row is not read again', async () => {
  const database = await openDatabase(await makeDatabase('sqlite'));
  const snapshotsDir = newSnapshots();
  await loadCatalogue(database, plainCatalogue(GAMES));
  await addTimes(database);
  for (const name of VALUE_FILTER_NAMES) {
    const { of, column } = filterRow(name);
    await database.run(`UPDATE ${of}s SET ${column} = ? WHERE id = 1`, [oddValue(name)]);
  }
  const readAll: (string | null)[] = [];
  for (const which of ['first run', 'second run']) {
    readAll.push((await run(database, snapshotsDir)).readAllBecause);
    const find = openCurrent(snapshotsDir);
    for (const name of VALUE_FILTER_NAMES) {
      const { finds, isFacet } = filterRow(name);
      const value = oddValue(name);
      const { ids, counted } = find(name, value.toUpperCase());
      expect(ids, `${which}, ${name}`).toEqual([1]);
      const part = find(name, `rare ${name}`);
      expect(part.ids, `${which}, part of ${name}`).toEqual(finds === 'part' ? [1] : []);
      expect(find(name, 'nothing').ids).toEqual([]);
      const values = finds === 'part' ? value.split(', ') : [value];
      const expected = values.map((each) => ({ value: each.toLowerCase(), games: 1 }));
      const own = counted?.filter((each) => each.value.includes(name));
      expect(own, `${which}, facet ${name}`).toEqual(isFacet ? expected : undefined);
    }
    // In another block of rows.
    await database.run(
      `UPDATE games SET title = 'Other', updated_at = '2021-01-01 00:00:00' WHERE id = ${GAMES}`,
    );
  }
  expect(readAll).toEqual(['there is no generation yet', null]);
  await database.close();
});
