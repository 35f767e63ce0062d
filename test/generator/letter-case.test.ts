/** Regions and types that differ only in case are different values, always in the same order. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import type { Row } from '../../database/database.ts';
import { CURRENT } from '../../format/layout.ts';
import { makeSnapshots } from '../catalogue/snapshots.ts';
import { startProxy, testKey, writeKeys } from '../support/product.ts';

const VALUES = ['usa', 'USA', 'Usa', 'Ångström', 'angstrom', null];
/** Compares like titles, then by code units; unknown values come last. */
const IN_ORDER = ['angstrom', 'Ångström', 'USA', 'Usa', 'usa', null];
const APPROVED_AT = '2026-01-02 03:04:05';

/** @param values the regions, each combined with every type, in the order of the covers' ids */
async function serve(values: readonly (string | null)[]) {
  const pairs = values.flatMap((region) => values.map((type) => [region, type] as const));
  const snapshotsDir = await makeSnapshots({
    platforms: [[1, 'snes', 'Super Nintendo']],
    games: [[1, 1, 'game', 'Game', null, null, null, null, null]],
    covers: pairs.map(([region, type], index): Row => {
      return [index + 1, 1, region, type, 'approved', APPROVED_AT];
    }),
    coverFiles: [],
    accounts: [],
  });
  const key = testKey(1);
  writeKeys(snapshotsDir, [key]);
  const proxy = await startProxy(snapshotsDir);
  const get = async (target: string) => (await proxy.get(target, key.key)).json;
  const covers: { region: string; type: string }[] = (await get('/games/snes/game/covers')).data;
  const found = await get('/search?region=uSa&type=UsA');
  await proxy.stop();
  const stats = JSON.parse(readFileSync(path.join(snapshotsDir, CURRENT, 'stats.json'), 'utf8'));
  return { covers: covers.map(({ region, type }) => [region, type]), stats, found };
}

test('spellings in different case stay separate, are ordered by code unit, and match in any case', async () => {
  for (const values of [VALUES, VALUES.toReversed()]) {
    const { covers, stats, found } = await serve(values);
    expect(covers).toEqual(IN_ORDER.flatMap((region) => IN_ORDER.map((type) => [region, type])));
    const counts = (name: string) =>
      ['USA', 'Usa', 'angstrom', 'usa', 'Ångström', null].map((value) => ({
        [name]: value,
        covers: VALUES.length,
      }));
    expect(stats.covers_by_region).toEqual(counts('region'));
    expect(stats.covers_by_type).toEqual(counts('type'));
    expect(found.total).toBe(1);
  }
});
