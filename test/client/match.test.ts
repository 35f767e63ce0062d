/** How the client (`client/`) matches lists of files: as few calls as possible, each within its limits. */
import { expect, test } from 'vitest';
import { createClient } from '#client/index.ts';
import { makeSampleSnapshots } from '#test/catalogue/snapshots.ts';
import { NEVER, startProxy, testKey } from '#test/support/product.ts';

/** A client of a server that finds nothing, and the addresses that it was asked for. */
function makeClient() {
  const asked: URL[] = [];
  const client = createClient({
    url: 'http://covers.example/api/v1',
    async fetch({ url }) {
      asked.push(new URL(url));
      const names = new URL(url).searchParams.get('names')?.split('/');
      return Response.json({ data: names?.map((name) => ({ name, match: null, game: null })) });
    },
  });
  return { client, asked };
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

test('a list is cut at 50 names, or at 7,500 bytes once they are encoded', async () => {
  for (const [name, calls] of [
    ['Chrono Trigger (USA).sfc', [50, 50, 20]],
    // 100 characters of nine bytes each: eight of them fit.
    ['ク'.repeat(100), Array.from({ length: 15 }, () => 8)],
  ] as const) {
    const { client, asked } = makeClient();
    const names = Array.from({ length: 120 }, (_, i) => `${i}`.padStart(3, '0') + name);
    const found = await all(client.match('snes,ds', names, { include: ['cover'] }));
    expect(found.map((item) => item.name)).toEqual(names);
    const counts = asked.map(({ searchParams }) => searchParams.get('names')?.split('/').length);
    expect(counts).toEqual(calls);
    for (const { search, searchParams } of asked) {
      expect(search.length).toBeLessThan(7_700);
      expect(searchParams.get('platform')).toBe('snes,ds');
      expect(searchParams.get('include')).toBe('cover');
    }
  }
});

test('results come one call after another, with the progress, until the caller stops', async () => {
  const { client, asked } = makeClient();
  const names = Array.from({ length: 101 }, (_, i) => `folder/${i}.sfc`);
  const progress: object[] = [];
  for await (const { name } of client.match('snes', names, {
    onProgress: (each) => progress.push(each),
  })) {
    if (name === '60.sfc') break;
  }
  expect(asked).toHaveLength(2);
  expect(progress).toEqual([
    { done: 50, total: 101 },
    { done: 100, total: 101 },
  ]);
  expect(await all(client.match('snes', []))).toEqual([]);
});

test('of a path, the name of the file or folder is sent; a path without one is skipped', async () => {
  const { client, asked } = makeClient();
  const long = 'x'.repeat(256);
  const paths = ['roms/EarthBound/', 'C:\\roms\\F-Zero.sfc', '', '//', long, 'a/b\\Tetris'];
  const results = await all(client.match('snes', paths));
  expect(asked.map(({ searchParams }) => searchParams.get('names'))).toEqual([
    'EarthBound/F-Zero.sfc/Tetris',
  ]);
  expect(results.map(({ name, skipped }) => (skipped ? null : name))).toEqual([
    ...['EarthBound', 'F-Zero.sfc', null, null, null, 'Tetris'],
  ]);
  expect(results[2]).toMatchObject({ name: '', match: null, game: null, candidates: [] });
  expect(await all(client.match('snes', ['/', '']))).toHaveLength(2);
  expect(asked).toHaveLength(1);
});

test('names of platforms are mapped as the API understands them', async () => {
  const key = testKey(1);
  const proxy = await startProxy(await makeSampleSnapshots([key]), {}, NEVER);
  const client = createClient({ url: `${proxy.url}/api/v1`, key: key.key });
  const names = [
    'PSX',
    'ぷれいすてーしょん',
    'sega_genesis',
    'SNES',
    'Nintendo - Game Boy',
    'gba (Europe)',
    'win',
    'Sega',
  ];
  const slugs = ['ps1', 'ps1', 'mega-drive', 'snes', 'game-boy', 'gba', 'pc', ''];
  const map = await client.mapPlatforms(names);
  expect(names.map((name) => map.get(name)?.join())).toEqual(slugs);
  for (const [at, name] of names.entries()) {
    const query = { platform: [name], per_page: 1 };
    const { data } = await client.get('/search', { query });
    expect(data[0]?.platform.slug ?? '', name).toBe(slugs[at]);
  }
});

test('the real API finds the games', async () => {
  const key = testKey(1);
  const proxy = await startProxy(await makeSampleSnapshots([key]), {}, NEVER);
  const client = createClient({ url: `${proxy.url}/api/v1`, key: key.key });
  const names = ['games/Chrono Trigger (USA).sfc', 'Unheard Of.zip', 'クロノ・トリガー.smc'];
  const options = { include: ['cover' as const], prefer: ['Japan'] };
  const found = await all(client.match('snes', names, options));
  expect(found.map(({ match, game }) => [match, game?.slug, game?.cover?.region])).toEqual([
    ['exact', 'chrono-trigger', 'USA'],
    [null, undefined, undefined],
    ['exact', 'chrono-trigger', 'Japan'],
  ]);
});
