/**
 * What the generator writes: the exact bytes of every body, the same from both databases. And how a run ends
 * that publishes, finds nothing new, or fails.
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { sampleCatalogue } from '#demo/catalogue/sample.ts';
import type { Row } from '#lib/database/database.ts';
import { FORMAT_VERSION, sequenceOf } from '#lib/format/layout.ts';
import { currentId, idsOnDisk, readManifest } from '#lib/generations/generations.ts';
import { catalogueOf, game, plainCatalogue } from '#test/catalogue/plain.ts';
import { makeLoaded, makeSnapshots, makeSqlite } from '#test/catalogue/snapshots.ts';
import { KINDS } from '#test/support/databases.ts';
import { generate } from '#test/support/product.ts';
import {
  expectCurrentVerifies,
  newSnapshots,
  published,
  reportOf,
  runGenerator,
} from '#test/support/wholeness.ts';

function currentFile(snapshotsDir: string, name: string): string {
  return readFileSync(path.join(snapshotsDir, 'current', name), 'utf8');
}

describe.each(KINDS)('from %s', (kind) => {
  test('each body is exactly what the contract says', async () => {
    const huge = '9223372036854775807';
    const url = await makeLoaded(
      kind,
      catalogueOf({
        platforms: [
          [7, 'snes', 'Super "NES"'],
          [3, 'nes', 'NES'],
          [9, 'empty', 'Émpty'],
          [1, 'aaa', 'Zero'],
        ],
        games: [
          [20, 7, 'b', 'Bé\t"2', 1995, 'Line\nbreak', 'Action, RPG', 'Dev & Co', ''],
          [10, 7, 'a', 'BE\t"10', null, null, null, null, null],
          [huge, 3, 'zero', '007', 1984, '', null, null, '任天堂 🎮'],
        ],
        covers: [
          [5, 20, 'USA', 'front', 'approved', '2026-11-20 14:03:00'],
          [6, 20, 'europe', 'front', 'approved', null],
          [4, 20, null, 'front', 'approved', '2026-11-20 14:03:00'],
          [3, 20, 'Europe', 'back', 'approved', '2001-02-03 04:05:06'],
          [2, 20, 'Europe', 'back', 'pending', null],
          [1, 20, 'Europe', 'back', 'rejected', '2026-11-21 00:00:00'],
          [huge, huge, 'Japan', null, 'approved', '2026-11-20 14:03:01'],
        ],
        coverFiles: [
          [31, 5, 'thumb', null, null, null, null, 'https://elsewhere.example/x.jpg?size=1'],
          [30, 5, 'original', 'image/png', 0, 480, '4294967296', 'snes/ü b#1.png'],
          [32, 2, 'original', null, null, null, null, 'hidden.png'],
          [huge, huge, null, null, null, null, null, '/lead/plain.jpg'],
        ],
      }),
    );
    const dir = newSnapshots();
    await generate(url, dir);

    const snes = '{"slug":"snes","name":"Super \\"NES\\""}';
    const nes = '{"slug":"nes","name":"NES"}';
    const page = 'https://covers.example/en/platform';
    expect(currentFile(dir, 'games/snes.json')).toBe(
      `[
{"id":20,"slug":"b","title":"Bé\\t\\"2","release_year":1995,"description":"Line\\nbreak","genres":"Action, RPG","developer":"Dev & Co","publisher":null,"cover_count":4,"platform":${snes},"url":"${page}/snes/game/b"},
{"id":10,"slug":"a","title":"BE\\t\\"10","release_year":null,"description":null,"genres":null,"developer":null,"publisher":null,"cover_count":0,"platform":${snes},"url":"${page}/snes/game/a"}
]
`,
    );
    expect(currentFile(dir, 'games/nes.json')).toBe(
      `[
{"id":${huge},"slug":"zero","title":"007","release_year":1984,"description":null,"genres":null,"developer":null,"publisher":"任天堂 🎮","cover_count":1,"platform":${nes},"url":"${page}/nes/game/zero"}
]
`,
    );
    expect(currentFile(dir, 'games/empty.json')).toBe('[]\n');
    expect(currentFile(dir, 'covers/empty.json')).toBe('[]\n');
    const b = `"game":{"slug":"b","title":"Bé\\t\\"2","platform":${snes}}`;
    const files5 =
      '{"id":30,"variant":"original","mime_type":"image/png","width":0,"height":480,"size_bytes":4294967296,"url":"https://files.covers.example/snes/%C3%BC%20b%231.png"},{"id":31,"variant":"thumb","mime_type":null,"width":null,"height":null,"size_bytes":null,"url":"https://elsewhere.example/x.jpg?size=1"}';
    const cover = {
      3: `{"id":3,"region":"Europe","type":"back","approved_at":"2001-02-03T04:05:06Z",${b},"files":[]}`,
      4: `{"id":4,"region":null,"type":"front","approved_at":"2026-11-20T14:03:00Z",${b},"files":[]}`,
      5: `{"id":5,"region":"USA","type":"front","approved_at":"2026-11-20T14:03:00Z",${b},"files":[${files5}]}`,
      6: `{"id":6,"region":"europe","type":"front","approved_at":null,${b},"files":[]}`,
      huge: `{"id":${huge},"region":"Japan","type":null,"approved_at":"2026-11-20T14:03:01Z","game":{"slug":"zero","title":"007","platform":${nes}},"files":[{"id":${huge},"variant":null,"mime_type":null,"width":null,"height":null,"size_bytes":null,"url":"https://files.covers.example/lead/plain.jpg"}]}`,
    };
    // By region, ignoring case, with unknown ones last; then by type, then by id.
    expect(currentFile(dir, 'covers/snes.json')).toBe(
      `[\n${[cover[3], cover[6], cover[5], cover[4]].join(',\n')}\n]\n`,
    );
    expect(currentFile(dir, 'covers/nes.json')).toBe(`[\n${cover.huge}\n]\n`);
    expect(currentFile(dir, 'covers-recent.json')).toBe(
      `{"data":[\n${[cover.huge, cover[5], cover[4], cover[3]].join(',\n')}\n]}`,
    );
    expect(currentFile(dir, 'platforms.json')).toBe(
      `{"data":[
{"slug":"empty","name":"Émpty","game_count":0,"cover_count":0,"url":"${page}/empty"},
{"slug":"nes","name":"NES","game_count":1,"cover_count":1,"url":"${page}/nes"},
{"slug":"snes","name":"Super \\"NES\\"","game_count":2,"cover_count":4,"url":"${page}/snes"},
{"slug":"aaa","name":"Zero","game_count":0,"cover_count":0,"url":"${page}/aaa"}
]}`,
    );
    expect(currentFile(dir, 'stats.json')).toBe(
      '{"platforms":4,"games":3,"covers":5,"cover_files":3,"games_with_covers":2,' +
        '"covers_by_region":[{"region":"Europe","covers":1},{"region":"Japan","covers":1},{"region":"USA","covers":1},{"region":"europe","covers":1},{"region":null,"covers":1}],' +
        '"covers_by_type":[{"type":"front","covers":3},{"type":"back","covers":1},{"type":null,"covers":1}],' +
        '"top_platforms":[{"slug":"snes","name":"Super \\"NES\\"","games":2,"covers":4},{"slug":"nes","name":"NES","games":1,"covers":1},{"slug":"empty","name":"Émpty","games":0,"covers":0},{"slug":"aaa","name":"Zero","games":0,"covers":0}],' +
        '"latest_cover_at":"2026-11-20T14:03:01Z"}',
    );
    expect(reportOf(dir).rows).toEqual([]);
  });
});

test('the same rows give byte-identical generations and reports from MariaDB and SQLite', async () => {
  const found = [];
  for (const kind of KINDS) {
    const dir = newSnapshots();
    await generate(await makeLoaded(kind, sampleCatalogue()), dir);
    const manifest = readManifest(path.join(dir, 'current'));
    const files = manifest.files.map(({ changed_at: _, ...file }) => file);
    found.push({ id: currentId(dir), files, report: { ...reportOf(dir), finished_at: '' } });
  }
  expect(Object.keys(found[0].files).length).toBeGreaterThan(30);
  for (const each of found) expect(each).toEqual(found[0]);
});

describe('a run', () => {
  const jsonOf = async (url: string, dir: string, ...args: string[]) => {
    const { stdout } = await generate(url, dir, ['--json', ...args]);
    expect(stdout.trimEnd().split('\n')).toHaveLength(1);
    return JSON.parse(stdout);
  };

  test('with --json prints one object; the same rows publish nothing new, and another setting does', async () => {
    const url = await makeSqlite(plainCatalogue(3));
    const dir = newSnapshots();
    const first = await jsonOf(url, dir);
    expect(first).toEqual({
      outcome: 'published',
      error: null,
      id: expect.stringMatching(/^000001-[0-9a-f]{12}$/),
      counts: { platforms: 8, games: 3, covers: 3, cover_files: 0, left_out: 0 },
      previous_counts: null,
      left_out: [],
      warnings: [],
      report: expect.objectContaining({ covers_gone_with_their_game: 0, rows: [], warnings: [] }),
      seconds: expect.any(Number),
      read_all_because: expect.stringContaining('updated_at'),
      peak_memory_mb: expect.any(Number),
      changes: null,
    });
    const { id, counts } = first;
    const second = await jsonOf(url, dir);
    expect(second).toMatchObject({ outcome: 'unchanged', id, counts, previous_counts: counts });
    expect(idsOnDisk(dir)).toEqual([id]);

    expect((await runGenerator(url, dir, [], { SITE_LANGUAGE: 'de' })).code).toBe(0);
    expect(currentId(dir)).not.toBe(id);
    expect(currentFile(dir, 'platforms.json')).toContain('/de/platform/p1');
  });

  test.each<[string, string, RegExp, string]>([
    ['a damaged pack', 'games/p2.json', /^.*/s, 'damaged'],
    ['an empty manifest', 'manifest.json', /^.*/s, ''],
    ['a truncated manifest', 'manifest.json', /.{20}$/s, ''],
    ['other counts', 'manifest.json', /"games": 3/, '"games": 9'],
    ['another version', 'manifest.json', /(?<="format_version": )\d+/, `${FORMAT_VERSION + 1}`],
  ])('publishes the same rows again if the generation has %s', async (_, name, from, to) => {
    const url = await makeSqlite(plainCatalogue(3));
    const dir = newSnapshots();
    await generate(url, dir);
    const damaged = currentId(dir) as string;
    const file = path.join(dir, 'generations', damaged, name);
    const before = readFileSync(file, 'utf8');
    const after = before.replace(from, to);
    expect(after).not.toBe(before);
    writeFileSync(file, after);
    await generate(url, dir);
    const id = await expectCurrentVerifies(dir);
    expect(sequenceOf(id)).toBe(sequenceOf(damaged) + 1);
    expect(JSON.parse(currentFile(dir, 'games/p2.json'))).toHaveLength(1);
    // The damaged generation is not changed.
    expect(readFileSync(file, 'utf8')).toBe(after);
  });

  test('with --dry-run publishes nothing and shows what would change', async () => {
    const dir = newSnapshots();
    const url = await makeSqlite(plainCatalogue(3));
    const dry = await jsonOf(url, dir, '--dry-run');
    expect(dry).toMatchObject({ outcome: 'dry_run', counts: { games: 3 }, previous_counts: null });
    expect(currentId(dir)).toBe(undefined);

    await generate(url, dir);
    const otherFiles = () =>
      globSync('**/*.{json,bin}', { cwd: dir, exclude: ['report.json'] })
        .map((name) => [name, readFileSync(path.join(dir, name), 'latin1')])
        .toSorted();
    const before = otherFiles();
    const more = await generate(await makeSqlite(plainCatalogue(5)), dir, ['--dry-run']);
    expect(more.stdout).toMatch(/^\+ \/games\/.*5 games \(\+2\)/ms);
    const json = await jsonOf(await makeSqlite(plainCatalogue(5)), dir, '--dry-run');
    expect(json.changes).toContainEqual({
      ...{ change: 'added', kind: 'cover', id: 5, path: '/covers/5', members: {} },
    });
    expect(otherFiles()).toEqual(before);
  });
});

const VALUES = ['usa', 'USA', 'Usa', 'Ångström', 'angstrom', null];
/** Compares like titles, then by code units; unknown values come last. */
const IN_ORDER = ['angstrom', 'Ångström', 'USA', 'Usa', 'usa', null];
const BY_UNIT = ['USA', 'Usa', 'angstrom', 'usa', 'Ångström', null];

// In the order of the ids of the covers, and in the other.
test.each([[VALUES], [VALUES.toReversed()]])(
  'spellings in different case stay separate and are ordered by code unit: %s',
  async (values) => {
    const pairs = values.flatMap((region) => values.map((type) => [region, type] as const));
    const catalogue = catalogueOf({
      platforms: [[1, 'snes', 'Super Nintendo']],
      games: [game(1, 1)],
      covers: pairs.map(([region, type], i): Row => [i + 1, 1, region, type, 'approved', null]),
    });
    const dir = await makeSnapshots(catalogue);
    const covers: { region: string; type: string }[] = published(dir, 'covers/snes.json');
    expect(covers.map(({ region, type }) => [region, type])).toEqual(
      IN_ORDER.flatMap((region) => IN_ORDER.map((type) => [region, type])),
    );
    const counts = (name: string) => BY_UNIT.map((value) => ({ [name]: value, covers: 6 }));
    expect(published(dir, 'stats.json')).toMatchObject({
      covers_by_region: counts('region'),
      covers_by_type: counts('type'),
    });
  },
);
