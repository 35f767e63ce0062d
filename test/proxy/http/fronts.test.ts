/**
 * A catalogue whose owner has other words for the fronts of covers: FRONT_TYPES decides wherever a front is meant.
 * The proxies learn it from the generation.
 */
import { expect, test } from 'vitest';
import type { Catalogue } from '#demo/catalogue/load.ts';
import type { Row } from '#lib/database/database.ts';
import { catalogueOf, game } from '#test/catalogue/plain.ts';
import { makeSqlite } from '#test/catalogue/snapshots.ts';
import { NEVER, startProxy, testKey, writeKeys } from '#test/support/product.ts';
import { newSnapshots, published, runGenerator } from '#test/support/wholeness.ts';

const key = testKey(1);
const SHARED_NAME = 'Same Name';

/** The covers of each game, by their types, in the order of their ids. */
const TYPES = [['verso', 'Capa', 'FRENTE'], ['verso', 'capa'], ['verso'], ['front'], []] as const;

function catalogue(): Catalogue {
  let id = 0;
  const covers = TYPES.flatMap((types, at) =>
    types.map((type): Row => [++id, at + 1, 'PT', type, 'approved', '2026-01-02 03:04:05']),
  );
  const games = TYPES.map((_, at) =>
    game(at + 1, 1, at === 1 || at === 2 ? SHARED_NAME : `Game ${at}`),
  );
  return catalogueOf({
    platforms: [[1, 'one', 'One']],
    games,
    covers,
    coverFiles: covers.map(
      ([cover]): Row => [cover, cover, null, null, null, null, null, `${cover}.png`],
    ),
  });
}

const dir = newSnapshots();
const url = await makeSqlite(catalogue());
const generated = await runGenerator(url, dir, [], { FRONT_TYPES: 'Frente, capa' });
writeKeys(dir, [key]);
const proxy = await startProxy(dir, { EXPLORER_KEY: key.key }, NEVER);
const get = async (path: string) => (await proxy.get(path, key.key)).json;

test('include=cover has the best of these types, and no other one', async () => {
  expect(generated.code).toBe(0);
  const { data } = await get('/search?include=cover');
  const types = data.map(({ id, cover }: { id: number; cover: { type: string } | null }) => [
    id,
    cover?.type ?? null,
  ]);
  expect(Object.fromEntries(types)).toEqual({ 1: 'FRENTE', 2: 'capa', 3: null, 4: null, 5: null });
  const asked = await get('/games?ids=3&include=cover&cover_type=verso');
  expect(asked.data[0].cover.type).toBe('verso');
});

test.each([
  ['true', [1, 2]],
  ['false', [3, 4, 5]],
])('has_cover=%s asks for these types', async (value, ids) => {
  const { data } = await get(`/search?has_cover=${value}`);
  expect(data.map(({ id }: { id: number }) => id).toSorted()).toEqual(ids);
});

test('of two games with one title, /match prefers the one with a front', async () => {
  const { data } = await get(`/match?platform=one&names=${encodeURIComponent(SHARED_NAME)}`);
  expect(data[0].game.id).toBe(2);
});

test('pages mark only covers of other types with their type, and show fronts first', async () => {
  const read = async (path: string) => (await fetch(proxy.url + path)).text();
  for (const path of ['/', '/explore']) {
    const marks = (await read(path)).match(/(?<=class="state">)[^<]+/g) ?? [];
    expect([path, marks.toSorted()]).toEqual([path, ['Front', 'Verso']]);
  }
  const images = (await read('/explore/one/g1')).match(/src="[^"]+\/(\d+)\.png"/g);
  expect(images?.map((image) => image.replace(/\D+(\d+)\.png"/, '$1'))).toEqual(['2', '3', '1']);
});

test('the generation says which types are fronts, and only if they are not the usual ones', async () => {
  expect(published(dir, 'manifest.json').settings.front_types).toEqual(['Frente', 'capa']);
  const again = await runGenerator(url, dir, [], { FRONT_TYPES: 'front' });
  expect(again.stdout).toMatch(/^Published /);
  expect(Object.keys(published(dir, 'manifest.json').settings)).toEqual([
    'site_url',
    'site_language',
    'files_url',
  ]);
});
