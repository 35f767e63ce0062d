/** Regions and types that differ only in case are different values, always in the same order. */
import { expect, test } from 'vitest';
import type { Row } from '../../database/database.ts';
import { catalogueOf } from '../catalogue/plain.ts';
import { makeSnapshots } from '../catalogue/snapshots.ts';
import { startProxy, testKey } from '../support/product.ts';

const VALUES = ['usa', 'USA', 'Usa', 'Ångström', 'angstrom', null];
/** Compares like titles, then by code units; unknown values come last. */
const IN_ORDER = ['angstrom', 'Ångström', 'USA', 'Usa', 'usa', null];
const BY_UNIT = ['USA', 'Usa', 'angstrom', 'usa', 'Ångström', null];
const TIME = '2026-01-02 03:04:05';

test('spellings in different case stay separate, are ordered by code unit, and match in any case', async () => {
  // In the order of the ids of the covers, and in the other.
  for (const values of [VALUES, VALUES.toReversed()]) {
    const pairs = values.flatMap((region) => values.map((type) => [region, type] as const));
    const key = testKey(1);
    const catalogue = catalogueOf({
      platforms: [[1, 'snes', 'Super Nintendo']],
      games: [[1, 1, 'game', 'Game', null, null, null, null, null]],
      covers: pairs.map(([region, type], i): Row => [i + 1, 1, region, type, 'approved', TIME]),
    });
    const proxy = await startProxy(await makeSnapshots(catalogue, [key]));
    const get = async (target: string) => (await proxy.get(target, key.key)).json;
    const covers: { region: string; type: string }[] = (await get('/games/snes/game/covers')).data;
    expect(covers.map(({ region, type }) => [region, type])).toEqual(
      IN_ORDER.flatMap((region) => IN_ORDER.map((type) => [region, type])),
    );
    const counts = (name: string) => {
      return BY_UNIT.map((value) => ({ [name]: value, covers: VALUES.length }));
    };
    expect(await get('/stats')).toMatchObject({
      covers_by_region: counts('region'),
      covers_by_type: counts('type'),
    });
    expect((await get('/search?region=uSa&type=UsA')).total).toBe(1);
    await proxy.stop();
  }
});
