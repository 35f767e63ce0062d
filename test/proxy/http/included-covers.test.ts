/**
 * `include`, batches and the covers of a platform return the same records, byte for byte, as the requests
 * that they replace.
 */
import { describe, expect, test } from 'vitest';
import type { Catalogue } from '#demo/catalogue/load.ts';
import { sampleCatalogue } from '#demo/catalogue/sample.ts';
import { makeSnapshots } from '#test/catalogue/snapshots.ts';
import { checkContract } from '#test/support/openapi.ts';
import { NEVER, startProxy, testKey } from '#test/support/product.ts';

const key = testKey(1);

/** The sample, with a game that has covers of many regions and types, and one with a large id. */
function catalogue(): Catalogue {
  const sample = sampleCatalogue();
  const [[first], [second]] = [...sample.platforms] as [[number], [number]];
  const game = (id: number | string, slug: string, platform = first) =>
    [id, platform, slug, slug, null, null, null, null, null] as never;
  const covers: [id: number, region: string | null, type: string | null][] = [
    [900_009, 'JP', 'Front'],
    [900_008, 'JP', 'front'],
    [900_001, null, 'back'],
    [900_002, 'EU', null],
    [900_007, 'US', 'front'],
    [900_005, 'EU', 'FRONT'],
    [900_006, 'eu', 'front'],
    [900_000, 'AU', 'disc'],
    // Without files, so it is never the best, although its id is the lowest.
    [899_999, 'EU', 'front'],
  ];
  return {
    ...sample,
    games: [
      ...sample.games,
      game(900_000, 'many-covers'),
      game('9007199254740993', 'large-id'),
      game(900_001, 'no-files', second),
    ],
    covers: [
      ...sample.covers,
      ...covers.map(([id, region, type]) => [id, 900_000, region, type, 'approved', null] as never),
      [899_998, 900_001, 'EU', 'front', 'approved', null],
    ],
    coverFiles: [
      ...sample.coverFiles,
      ...covers
        .filter(([id]) => id !== 899_999)
        .map(([id]) => [id, id, null, null, null, null, null, `${id}.png`] as never),
    ],
  };
}

const proxy = await startProxy(await makeSnapshots(catalogue(), [key]), {}, NEVER);

async function get(target: string) {
  const reply = await proxy.get(target, key.key);
  checkContract('GET', `/api/v1${target}`, reply);
  return reply;
}

async function textOf(target: string): Promise<string> {
  const { status, text } = await get(target);
  expect(status, target).toBe(200);
  return text;
}

async function errorOf(target: string): Promise<string> {
  const { status, json } = await get(target);
  expect(status, target).toBe(400);
  expect(json.error).toContain(json.parameter);
  return json.error;
}

interface GameRecord {
  readonly id: number;
  readonly slug: string;
  readonly platform: { readonly slug: string };
}

const pathOf = ({ slug, platform }: GameRecord) => `/games/${platform.slug}/${slug}`;

/** What a list with included members must be: a list without them, and one request for each game. */
async function assemble(list: string, memberOf: (game: GameRecord) => Promise<string>) {
  const plain = await textOf(list);
  const games: GameRecord[] = JSON.parse(plain).data;
  let expected = plain;
  for (const game of games) {
    const record = await textOf(pathOf(game));
    expect(expected).toContain(record);
    expected = expected.replace(record, () => `${record.slice(0, -1)}§`);
  }
  for (const game of games) {
    const member = await memberOf(game);
    expected = expected.replace('§', () => `,${member}}`);
  }
  return expected;
}

const LISTS = [
  '/platforms/snes/games?per_page=100',
  '/platforms/snes/games?per_page=3&page=2',
  '/platforms/snes/games?page=99',
  '/search?q=the',
  '/search?q=many&sort=relevance',
  '/search?per_page=20&sort=year_desc',
  '/games?slugs=snes/chrono-trigger,nes/none',
];

describe('include=covers', () => {
  test.each(LISTS)('adds to %s what the lists of covers contain', async (list) => {
    const expected = await assemble(list, async (game) => {
      const covers = await textOf(`${pathOf(game)}/covers`);
      return `"covers":${covers.slice('{"data":'.length, -1)}`;
    });
    const reply = await get(`${list}&include=covers`);
    expect(reply.text).toBe(expected);
    expect(reply.headers.etag).toMatch(/^"[0-9a-f]{16}"$/);
    expect(reply.headers.etag).not.toBe((await get(list)).headers.etag);
  });

  test('adds the covers to one game', async () => {
    const game = '/games/snes/chrono-trigger';
    const covers = (await textOf(`${game}/covers`)).slice('{"data":'.length, -1);
    const expected = `${(await textOf(game)).slice(0, -1)},"covers":${covers}}`;
    expect(await textOf(`${game}?include=covers`)).toBe(expected);
  });

  test('is kept in the links of a page', async () => {
    const { headers } = await get('/platforms/snes/games?include=cover&prefer=EU,US&per_page=2');
    expect(headers.link).toContain('include=cover&prefer=EU%2CUS&page=2&per_page=2>; rel="next"');
  });
});

describe('include=cover', () => {
  test.each(LISTS)('adds to %s the best front of each game, or null', async (list) => {
    const expected = await assemble(list, async (game) => {
      const { data } = JSON.parse(await textOf(`${pathOf(game)}/covers`));
      const isFront = (cover: { type: string | null }) => cover.type?.toLowerCase() === 'front';
      const [best] = data
        .filter(isFront)
        .filter(({ files }: { files: unknown[] }) => files.length > 0)
        .toSorted((a: { id: number }, b: { id: number }) => a.id - b.id);
      return `"cover":${best === undefined ? 'null' : await textOf(`/covers/${best.id}`)}`;
    });
    expect((await get(`${list}&include=cover`)).text).toBe(expected);
  });

  test.each([
    ['', 900_005],
    ['&prefer=', 900_005],
    ['&prefer=JP', 900_008],
    ['&prefer=jp', 900_008],
    ['&prefer=US,JP', 900_007],
    ['&prefer=AU,US', 900_007],
    ['&prefer=AU', 900_005],
    ['&prefer=ntsc-u', 900_007],
    ['&prefer=PAL', 900_005],
    ['&prefer=Korea,U,J', 900_007],
    ['&prefer=%20US%20,%20JP', 900_007],
    ['&prefer=K,B,F,G,S,I,C,JPN', 900_008],
    ['&prefer=ss,Mars,wor,ntsc-j,us', 900_008],
    ['&prefer=us,wor,ss,eu,jp', 900_007],
    ['&prefer=ss', 900_005],
    [`&prefer=${'ss,'.repeat(15)}JP`, 900_008],
    ['&cover_type=back,front', 900_001],
    ['&cover_type=DISC,front&prefer=JP', 900_000],
    ['&cover_type=spine,front&prefer=JP', 900_008],
    ['&cover_type=spine', undefined],
  ])(
    'chooses a front, or a type that is asked for, then by region and id (%s)',
    async (prefer, id) => {
      const { data } = JSON.parse(await textOf(`/games?ids=900000&include=cover${prefer}`));
      expect(data[0].cover?.id).toBe(id);
    },
  );
});

test('a cover without files leaves no trace in a body: a game that has no other one has the null of a game without covers', async () => {
  const [many, none] = JSON.parse(
    await textOf('/games?ids=900000,900001&include=cover&prefer=EU'),
  ).data;
  expect([many.cover.id, none.cover_count, none.cover]).toEqual([900_005, 1, null]);
  expect(JSON.parse(await textOf('/search?q=no-files&has_cover=true')).total).toBe(1);
  // The ETag is that of the records in the body.
  const withTypes = '/games?ids=900000&include=cover&cover_type=';
  const etags = [`${withTypes}front`, withTypes].map(
    async (path) => (await get(path)).headers.etag,
  );
  expect(new Set(await Promise.all(etags)).size).toBe(1);
});

test('several members come in one order; alternative titles are those of the catalogue', async () => {
  const game = '/games/snes/chrono-trigger?include=';
  const { cover, covers, titles, ...rest } = JSON.parse(await textOf(`${game}titles,cover,covers`));
  expect(titles).toEqual(['クロノ・トリガー']);
  expect(Object.keys(rest).at(-1)).toBe('url');
  expect(JSON.parse(await textOf(`${game}cover`)).cover).toEqual(cover);
  expect(JSON.parse(await textOf(`${game}covers`)).covers).toEqual(covers);
  const { data } = JSON.parse(await textOf('/games?ids=900000&include=titles'));
  expect(data[0].titles).toEqual([]);
});

describe('a batch', () => {
  test('of games has them in the order of the request, each once, and the missing ones', async () => {
    const { data } = JSON.parse(await textOf('/platforms/snes/games?per_page=3'));
    const [a, b, c] = data as [GameRecord, GameRecord, GameRecord];
    const texts = await Promise.all([c, a, b].map((game) => textOf(pathOf(game))));
    const expected = (missing: string) =>
      `{"data":[\n${texts.join(',\n')}\n],"missing":[${missing}]}`;
    const ids = `${c.id},77777777,${a.id},${c.id},0,${b.id},18446744073709551615`;
    expect(await textOf(`/games?ids=${ids}`)).toBe(expected('77777777,0,18446744073709551615'));
    const slugs = `snes/${c.slug},nes/${'x'.repeat(191)},snes/${a.slug},snes/${a.slug},ü/"\\,snes/${b.slug}`;
    expect(await textOf(`/games?slugs=${encodeURIComponent(slugs)}`)).toBe(
      expected(`"nes/${'x'.repeat(191)}","\\u00fc/\\"\\\\"`),
    );
    expect(await textOf('/games?ids=9007199254740993')).toContain('"id":9007199254740993,');
    expect(await textOf('/games?ids=5555555')).toBe('{"data":[],"missing":[5555555]}');
  });

  test('of covers has them in the order of the request', async () => {
    const texts = await Promise.all([900_007, 900_000].map((id) => textOf(`/covers/${id}`)));
    expect(await textOf('/covers?ids=900007,900000,900007,3000000000')).toBe(
      `{"data":[\n${texts.join(',\n')}\n],"missing":[3000000000]}`,
    );
  });

  test('keeps its ETag as long as its records stay the same', async () => {
    const etagOf = async (target: string) => (await get(target)).headers.etag;
    const etag = await etagOf('/covers?ids=900007,900000');
    expect(await etagOf('/covers?ids=900007,900000,900007')).toBe(etag);
    expect(await etagOf('/covers?ids=900000,900007')).not.toBe(etag);
    expect(await etagOf('/covers?ids=900007,900000,1111111')).not.toBe(etag);
    expect(await etagOf('/games?ids=900000')).not.toBe(
      await etagOf('/games?ids=900000&include=cover'),
    );
  });

  test('that is not well-formed is refused with the form that it should have', async () => {
    const games = 'ids or slugs is missing. To list all games, use /search';
    expect(await errorOf('/games')).toBe(games);
    expect(await errorOf('/games?ids=&slugs=')).toBe(games);
    expect(await errorOf('/games?ids=1&slugs=a/b')).toBe('Send either ids or slugs, not both');
    expect(await errorOf('/covers')).toBe(
      'ids is missing. To list the covers of a platform, use /platforms/{slug}/covers',
    );
    const ids = 'ids must be 1 to 100 ids, such as ids=1,2,3';
    for (const wrong of 'a|1,|,1|1,,2|-1|01|1.5|1;2|1,%202|18446744073709551616'.split('|')) {
      expect(await errorOf(`/games?ids=${wrong}`), wrong).toBe(ids);
      expect(await errorOf(`/covers?ids=${wrong}`), wrong).toBe(ids);
    }
    const most = Array.from({ length: 100 }, (_, id) => id).join();
    expect(await errorOf(`/covers?ids=${most},0`)).toBe(ids);
    expect(JSON.parse(await textOf(`/covers?ids=${most}`)).missing).toHaveLength(100);
    for (const wrong of ['a', 'a/b/c', '/b', 'a/', 'a/b,']) {
      expect(await errorOf(`/games?slugs=${wrong}`), wrong).toMatch(
        /^slugs must be 1 to 100 slugs of a platform and a game, such as /,
      );
    }
  });
});

test('the covers of a platform are those of its games, in the order of the games', async () => {
  const games: GameRecord[] = JSON.parse(await textOf('/platforms/snes/games?per_page=100')).data;
  const covers: unknown[] = [];
  for (const game of games) covers.push(...JSON.parse(await textOf(`${pathOf(game)}/covers`)).data);
  for (const page of [1, 2, 99]) {
    const found = JSON.parse(await textOf(`/platforms/snes/covers?page=${page}&per_page=7`));
    expect(found.data).toEqual(covers.slice((page - 1) * 7, page * 7));
    expect(found).toMatchObject({ page, per_page: 7, total: covers.length });
    expect(found.total_pages).toBe(Math.ceil(covers.length / 7));
  }
  expect((await get('/platforms/none/covers')).status).toBe(404);
});

test('wrong values of include, prefer and cover_type are refused, even where nothing is found', async () => {
  const regions = 'prefer must be 1 to 16 regions, separated by commas';
  const members =
    'include has "files". Allowed: cover, covers, titles, or several of them, separated by commas';
  for (const [query, text] of [
    ['include=files', members],
    ['include=cover,files', members],
    ['prefer=EU', 'prefer is only allowed with include=cover'],
    ['include=covers&cover_type=disc', 'cover_type is only allowed with include=cover'],
    ['include=cover&prefer=EU,', regions],
    [`include=cover&prefer=${'EU,'.repeat(16)}EU`, regions],
    [
      'include=cover&cover_type=fornt',
      'cover_type has "fornt", which no cover has. Types are front, back, spine, disc, cart and others that /stats lists',
    ],
  ] as const) {
    for (const path of ['/games/snes/none', '/platforms/snes/games', '/search']) {
      expect(await errorOf(`${path}?${query}`)).toBe(text);
    }
  }
  expect(JSON.parse(await textOf('/search?region=ss')).total).toBe(0);
  expect(await errorOf('/covers/recent?include=cover')).toMatch(/^Unknown parameter: include\./);
});

test('the games of a platform can be filtered like a search', async () => {
  const all: (GameRecord & { release_year: number | null; cover: unknown })[] = JSON.parse(
    await textOf('/platforms/snes/games?per_page=100&include=cover'),
  ).data;
  for (const [query, passes] of [
    ['has_cover=true', ({ cover }) => cover !== null],
    ['has_cover=false', ({ cover }) => cover === null],
    ['year=1994-1995', ({ release_year: year }) => year === 1994 || year === 1995],
    ['year=1995&has_cover=true', (game) => game.release_year === 1995 && game.cover !== null],
    ['year=1', () => false],
  ] as [string, (game: (typeof all)[number]) => boolean][]) {
    const expected = all.filter(passes).map(pathOf);
    const page = JSON.parse(await textOf(`/platforms/snes/games?per_page=100&${query}`));
    expect([page.total, page.data.map(pathOf)], query).toEqual([expected.length, expected]);
    const found = JSON.parse(await textOf(`/search?platform=SNES&per_page=100&${query}`));
    expect(found, query).toEqual(page);
    const { data } = JSON.parse(await textOf(`/platforms/snes/games?per_page=2&page=2&${query}`));
    expect(data, query).toEqual(page.data.slice(2, 4));
  }
});

test('facets count what the search finds with each value in place of its own', async () => {
  const names = 'platform,region,type,genre,year';
  for (const query of [
    '',
    'q=the&',
    'q=mario&platform=snes,nes&',
    'region=U&genre=rpg&year=1990-2001&has_cover=true&',
    'q=zzzzz&',
  ]) {
    const { facets, ...page } = JSON.parse(await textOf(`/search?${query}facets=${names}`));
    expect(page).toEqual(JSON.parse(await textOf(`/search?${query}`)));
    expect(Object.keys(facets).join()).toBe(names);
    for (const name of names.split(',')) {
      const values: { value: string; games: number }[] = facets[name];
      const inOrder = values.toSorted((a, b) => b.games - a.games || (a.value < b.value ? -1 : 1));
      expect(values).toEqual(inOrder);
      expect(values.length).toBeLessThanOrEqual(50);
      for (const { value, games } of [...values.slice(0, 4), ...values.slice(-2)]) {
        const others = new URLSearchParams(query);
        others.set(name, value);
        const { total } = JSON.parse(await textOf(`/search?${others}`));
        expect([query, name, value, total]).toEqual([query, name, value, games]);
      }
    }
  }
});
