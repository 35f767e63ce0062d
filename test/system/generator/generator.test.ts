/**
 * What the generator writes: the exact bytes of every body, the same from both databases. Rows that
 * break the contract are left out, and a generation that fails the checks is not published.
 */

import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Row } from '../../../database/database.ts';
import { openDatabase } from '../../../database/open.ts';
import { FORMAT_VERSION, sequenceOf } from '../../../format/layout.ts';
import { runGenerator } from '../../../generator/cli/run-generator.ts';
import {
  currentId,
  generationDir,
  listGenerations,
} from '../../../store/generations/generations.ts';
import { verifyGeneration } from '../../../store/generations/verify.ts';
import type { Catalogue } from '../../catalogue/catalogue.ts';
import { loadCatalogue } from '../../catalogue/load.ts';
import { sampleCatalogue } from '../../catalogue/sample.ts';
import { makeSampleSqlite, makeSnapshots, makeSqlite } from '../../catalogue/snapshots.ts';
import { KINDS, makeDatabase } from '../../support/databases.ts';
import { generate, makeFolder, runCommand, runProgram } from '../../support/product.ts';

const SETTINGS = {
  SITE_URL: 'https://covers.example',
  FILES_URL: 'https://files.covers.example',
  PUBLIC_URL: 'https://api.covers.example',
};

function catalogueOf(rows: Partial<Record<keyof Catalogue, Row[]>>): Catalogue {
  return { platforms: [], games: [], covers: [], coverFiles: [], accounts: [], ...rows };
}

function game(id: Row[0], platform: number, slug: string, title: string): Row {
  return [id ?? null, platform, slug, title, null, null, null, null, null];
}

/** A catalogue of this many games with one cover each, for tests of when a run is refused. */
function plainCatalogue(games: number, changes: { games?: Row[]; covers?: Row[] } = {}): Catalogue {
  const numbers = Array.from({ length: games }, (_, i) => i + 1);
  return catalogueOf({
    platforms: [[1, 'one', 'One']],
    games: [...numbers.map((n) => game(n, 1, `g${n}`, `Game ${n}`)), ...(changes.games ?? [])],
    covers: [
      ...numbers.map((n): Row => [n, n, 'USA', 'front', 'approved', null]),
      ...(changes.covers ?? []),
    ],
  });
}

const newSnapshots = () => path.join(makeFolder(), 'snapshots');

function run(databaseUrl: string, snapshotsDir: string, ...args: string[]) {
  return runCommand(runGenerator, args, {
    DATABASE_URL: databaseUrl,
    SNAPSHOTS_DIR: snapshotsDir,
    ...SETTINGS,
  });
}

/** The text of every file under a folder, by relative path. */
function filesOf(dir: string): Map<string, string> {
  const names = readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(dir, path.join(entry.parentPath, entry.name)))
    .sort();
  return new Map(names.map((name) => [name, readFileSync(path.join(dir, name), 'latin1')]));
}

function currentFile(snapshotsDir: string, name: string): string {
  return readFileSync(path.join(snapshotsDir, 'current', name), 'utf8');
}

function reportOf(snapshotsDir: string) {
  return JSON.parse(readFileSync(path.join(snapshotsDir, 'report.json'), 'utf8'));
}

describe.each(KINDS)('from %s', (kind) => {
  test('each body is exactly what the contract says', async () => {
    const huge = '9223372036854775807';
    const url = await makeDatabase(kind);
    const database = await openDatabase(url);
    await loadCatalogue(
      database,
      catalogueOf({
        platforms: [
          [7, 'snes', 'Super "NES"'],
          [3, 'nes', 'NES'],
          [9, 'empty', 'Émpty'],
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
          [30, 5, 'original', 'image/png', 640, 480, '4294967296', 'snes/ü b#1.png'],
          [32, 2, 'original', null, null, null, null, 'hidden.png'],
          [huge, huge, null, null, null, null, null, '/lead/plain.jpg'],
        ],
      }),
    );
    await database.close();
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
      '{"id":30,"variant":"original","mime_type":"image/png","width":640,"height":480,"size_bytes":4294967296,"url":"https://files.covers.example/snes/%C3%BC%20b%231.png"},{"id":31,"variant":"thumb","mime_type":null,"width":null,"height":null,"size_bytes":null,"url":"https://elsewhere.example/x.jpg?size=1"}';
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
{"slug":"snes","name":"Super \\"NES\\"","game_count":2,"cover_count":4,"url":"${page}/snes"}
]}`,
    );
    expect(currentFile(dir, 'stats.json')).toBe(
      '{"platforms":3,"games":3,"covers":5,"cover_files":3,"games_with_covers":2,' +
        '"covers_by_region":[{"region":"Europe","covers":1},{"region":"Japan","covers":1},{"region":"USA","covers":1},{"region":"europe","covers":1},{"region":null,"covers":1}],' +
        '"covers_by_type":[{"type":"front","covers":3},{"type":"back","covers":1},{"type":null,"covers":1}],' +
        '"top_platforms":[{"slug":"snes","name":"Super \\"NES\\"","games":2,"covers":4},{"slug":"nes","name":"NES","games":1,"covers":1},{"slug":"empty","name":"Émpty","games":0,"covers":0}],' +
        '"latest_cover_at":"2026-11-20T14:03:01Z"}',
    );
    expect(reportOf(dir).rows).toEqual([]);
  });

  test('an empty catalogue is published as a generation', async () => {
    const url = await makeDatabase(kind);
    const database = await openDatabase(url);
    await loadCatalogue(database, catalogueOf({}));
    await database.close();
    const dir = newSnapshots();
    await generate(url, dir);
    expect(currentFile(dir, 'platforms.json')).toBe('{"data":[]}');
    expect(currentFile(dir, 'covers-recent.json')).toBe('{"data":[]}');
    expect(JSON.parse(currentFile(dir, 'stats.json'))).toMatchObject({ games: 0, covers: 0 });
  });

  test('one error names all missing tables and columns', async () => {
    const url = await makeDatabase(kind);
    const database = await openDatabase(url);
    await loadCatalogue(database, catalogueOf({}));
    await database.run('DROP TABLE covers');
    await database.run('ALTER TABLE games DROP COLUMN developer');
    await database.run('ALTER TABLE games DROP COLUMN publisher');
    await database.close();
    const dir = newSnapshots();
    const { code, stdout, stderr } = await run(url, dir);
    expect(code).toBe(1);
    expect(stdout).toBe('');
    for (const name of ['covers', 'games.developer', 'games.publisher']) {
      expect(stderr).toContain(name);
    }
    expect(currentId(dir)).toBe(undefined);
  });
});

describe('the same rows', () => {
  test('give byte-identical generations from MariaDB and SQLite', async () => {
    const folders: string[] = [];
    for (const kind of KINDS) {
      const url = await makeDatabase(kind);
      const database = await openDatabase(url);
      await loadCatalogue(database, sampleCatalogue());
      await database.close();
      const dir = newSnapshots();
      await generate(url, dir);
      folders.push(dir);
    }
    const [left, right] = folders.map((dir) => filesOf(path.join(dir, 'current')));
    expect([...(left?.keys() ?? [])]).toEqual([...(right?.keys() ?? [])]);
    expect(left?.size).toBeGreaterThan(30);
    for (const [name, content] of left ?? []) {
      expect(right?.get(name) === content, name).toBe(true);
    }
    expect(currentId(folders[0])).toBe(currentId(folders[1]));
  });

  test('publish nothing new', async () => {
    const url = await makeSampleSqlite();
    const dir = newSnapshots();
    const first = JSON.parse((await generate(url, dir, ['--json'])).stdout);
    expect(first).toMatchObject({ outcome: 'published', previous_counts: null });
    const second = JSON.parse((await generate(url, dir, ['--json'])).stdout);
    expect(second).toMatchObject({ outcome: 'unchanged', id: first.id, counts: first.counts });
    expect(listGenerations(dir).map(({ id }) => id)).toEqual([first.id]);
  });

  test('give another generation if a setting differs', async () => {
    const url = await makeSqlite(plainCatalogue(3));
    const dir = newSnapshots();
    await generate(url, dir);
    const before = currentId(dir);
    const { code } = await runCommand(runGenerator, [], {
      DATABASE_URL: url,
      SNAPSHOTS_DIR: dir,
      ...SETTINGS,
      SITE_LANGUAGE: 'de',
    });
    expect(code).toBe(0);
    expect(currentId(dir)).not.toBe(before);
    expect(currentFile(dir, 'platforms.json')).toContain('/de/platform/one');
  });

  test.each<[string, string, (text: string) => string]>([
    ['a damaged pack', 'games/one.json', () => 'damaged'],
    ['an empty manifest', 'manifest.json', () => ''],
    ['a truncated manifest', 'manifest.json', (text) => text.slice(0, -20)],
    [
      'a manifest with other counts',
      'manifest.json',
      (text) => text.replace('"games": 3', '"games": 9'),
    ],
    [
      'a manifest of another version',
      'manifest.json',
      (text) =>
        text.replace(
          `"format_version": ${FORMAT_VERSION}`,
          `"format_version": ${FORMAT_VERSION + 1}`,
        ),
    ],
  ])('are published again if the current generation has %s', async (_, name, damage) => {
    const url = await makeSqlite(plainCatalogue(3));
    const dir = newSnapshots();
    await generate(url, dir);
    const damaged = currentId(dir) as string;
    const file = path.join(dir, 'generations', damaged, name);
    const before = readFileSync(file, 'utf8');
    const after = damage(before);
    expect(after).not.toBe(before);
    writeFileSync(file, after);
    await generate(url, dir);
    const id = currentId(dir) as string;
    expect(sequenceOf(id)).toBe(sequenceOf(damaged) + 1);
    await verifyGeneration(generationDir(dir, id));
    expect(JSON.parse(currentFile(dir, 'games/one.json'))).toHaveLength(3);
    // The damaged generation is not changed.
    expect(readFileSync(file, 'utf8')).toBe(after);
  });
});

describe('rows that break the contract', () => {
  const long = 'x'.repeat(192);
  const faults: { games: Row[]; covers: Row[] } = {
    games: [
      game(9001, 99, 'orphan', 'Orphan'),
      game(9002, 1, '', 'No slug'),
      game(9003, 1, 'no-title', ''),
      game(9004, 1, 'blank-title', ' \t '),
      game(9005, 1, '../etc', 'Slug that leaves'),
      game(9006, 1, 'a/b', 'Slug with a slash'),
      game(9007, 1, '.hidden', 'Slug with a dot'),
      game(9008, 1, long, 'Slug too long'),
    ],
    covers: [
      [9101, 8888, null, null, 'approved', null],
      // Left out together with its game, and not reported itself.
      [9102, 9003, null, null, 'approved', null],
      // Never published, so its values are not checked.
      [9103, 8888, null, null, 'pending', null],
      [9105, 1, null, null, 'approved', '2026-02-30 00:00:00'],
      [9106, 1, null, null, 'approved', 'yesterday'],
    ],
  };
  const paths = ['', ' ', 'javascript:alert(1)', 'file:///etc/passwd', 'a\nb.jpg', '../../x.jpg'];

  async function makeFaulty(): Promise<string> {
    const files = Array.from({ length: 9 }, (_, i): Row => {
      return [i + 1, i + 1, null, null, null, null, null, `${i}.jpg`];
    });
    const bad = paths.map((value, i): Row => [2001 + i, 1, null, null, null, null, null, value]);
    const orphans: Row[] = [
      [3001, 7777, null, null, null, null, null, 'orphan.jpg'],
      [3002, 9103, null, null, null, null, null, 'of-a-pending-cover.jpg'],
      [3003, 9102, null, null, null, null, null, 'of-a-cover-gone-with-its-game.jpg'],
      [3004, 1, null, null, -1, null, null, 'width.jpg'],
      [3005, 1, null, null, null, 'tall', null, 'height.jpg'],
    ];
    const catalogue = plainCatalogue(9, faults);
    return makeSqlite({ ...catalogue, coverFiles: [...files, ...bad, ...orphans] });
  }

  test('are left out, counted, listed and warned about', async () => {
    const url = await makeFaulty();
    const dir = newSnapshots();
    const { stderr, stdout } = await generate(url, dir, ['--json', '--force']);
    const listed = reportOf(dir).rows as { table: string; id: number; reason: string }[];
    const idsOf = (table: string) =>
      listed.filter((row) => row.table === table).map(({ id }) => id);
    expect(idsOf('games').toSorted()).toEqual(faults.games.map(([id]) => id));
    expect(idsOf('covers').toSorted()).toEqual([9101, 9105, 9106]);
    expect(idsOf('cover_files').toSorted()).toEqual([
      2001, 2002, 2003, 2004, 2005, 2006, 3001, 3004, 3005,
    ]);
    expect(listed.every(({ reason }) => reason.length > 5)).toBe(true);
    expect(JSON.parse(stdout).counts).toMatchObject({ games: 9, covers: 9, left_out: 20 });
    expect(stderr).toMatch(/slug/);
    expect(stderr).toMatch(/games/);
    expect(currentFile(dir, 'games/one.json')).not.toMatch(/Orphan|Slug|title":""/);
    expect(currentFile(dir, 'covers/one.json')).not.toMatch(
      /orphan|pending|gone|javascript|passwd/,
    );
  });

  test('of two platforms with as many covers, the one that /platforms has first comes first', async () => {
    const dir = newSnapshots();
    const platforms = [
      [1, 'a', 'Zeta'],
      [2, 'b', 'Alpha'],
    ];
    const games = platforms.map(([id]) => game(id as number, id as number, `g${id}`, 'Title'));
    const covers = games.map(([id]): Row => [id, id, null, null, 'approved', null]);
    const catalogue = { platforms, games, covers, coverFiles: [], accounts: [] };
    await generate(await makeSqlite(catalogue), dir);
    const { top_platforms } = JSON.parse(currentFile(dir, 'stats.json'));
    expect(top_platforms.map(({ slug }: { slug: string }) => slug)).toEqual(['b', 'a']);
  });

  test('of two games with the same path, the one with the lower id is kept', async () => {
    const url = await makeDatabase('sqlite');
    const database = await openDatabase(url);
    await loadCatalogue(database, plainCatalogue(3));
    // A site may offer views, which have no unique keys.
    await database.run('ALTER TABLE games RENAME TO stored_games');
    await database.run(
      "CREATE VIEW games AS SELECT * FROM stored_games UNION ALL SELECT 9999, platform_id, slug, 'The later one', NULL, NULL, NULL, NULL, NULL FROM stored_games WHERE id = 1",
    );
    await database.close();
    const dir = newSnapshots();
    await generate(url, dir);
    expect(reportOf(dir).rows).toEqual([
      { table: 'games', id: 9999, reason: expect.stringContaining('twice'), value: 'g1' },
    ]);
    expect(currentFile(dir, 'games/one.json')).not.toContain('The later one');
  });

  const badGames = (count: number): Row[] =>
    Array.from({ length: count }, (_, i) => game(9001 + i, 1, `bad slug ${i}`, 'Bad'));

  test('that exceed 1 % of a table make the run exit with 3 unless it is forced', async () => {
    const url = await makeSqlite(plainCatalogue(989, { games: badGames(10) }));
    const dir = newSnapshots();
    const { code, stderr, stdout } = await run(url, dir);
    expect(code).toBe(3);
    expect(stdout).toBe('');
    expect(stderr).toContain('10 of 999 rows of games');
    expect(currentId(dir)).toBe(undefined);
    expect(readdirSync(path.join(dir, 'generations'))).toEqual([]);
    const forced = await run(url, dir, '--force');
    expect(forced.code).toBe(0);
    expect(currentId(dir)).toBeDefined();
  });

  test.each([
    ['exactly 1 % of a table', 990, 10],
    ['nine rows of a small table', 10, 9],
  ])('do not stop a run if they are %s', async (_, good, bad) => {
    const url = await makeSqlite(plainCatalogue(good, { games: badGames(bad) }));
    const dir = newSnapshots();
    const { code, stdout } = await run(url, dir, '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout).counts).toMatchObject({ games: good, left_out: bad });
  });

  test('that are all rows of a table make the run exit with 3', async () => {
    const url = await makeSqlite(
      catalogueOf({ platforms: [[1, 'one', 'One']], games: [game(1, 99, 'orphan', 'Orphan')] }),
    );
    expect((await run(url, newSnapshots())).code).toBe(3);
  });
});

describe('after a catalogue with 100 games', () => {
  let whole: string;
  beforeAll(async () => {
    whole = await makeSnapshots(plainCatalogue(100));
  });

  test.each([
    ['79 games is refused', plainCatalogue(79), 3],
    ['no rows is refused', catalogueOf({}), 3],
    ['no covers is refused', { ...plainCatalogue(100), covers: [] }, 3],
    ['80 games is published', plainCatalogue(80), 0],
  ])('a catalogue with %s', async (_, smaller, expected) => {
    const dir = newSnapshots();
    cpSync(whole, dir, { recursive: true, verbatimSymlinks: true });
    const before = currentId(dir);
    const url = await makeSqlite(smaller);
    const { code, stderr } = await run(url, dir);
    expect(code).toBe(expected);
    if (expected === 0) {
      expect(currentId(dir)).not.toBe(before);
      return;
    }
    expect(stderr).toContain('--force');
    expect(stderr).toMatch(/(?:games|covers) fall from 100 to \d+, by more than 20 %/);
    expect(currentId(dir)).toBe(before);
    expect(JSON.parse(readFileSync(path.join(dir, 'status.json'), 'utf8'))).toMatchObject({
      outcome: 'refused',
      error: expect.stringContaining('100'),
    });
    expect((await run(url, dir, '--force')).code).toBe(0);
    expect(currentId(dir)).not.toBe(before);
  });
});

describe('generate', () => {
  test('--dry-run publishes nothing and shows what would change', async () => {
    const dir = newSnapshots();
    const nothing = await run(await makeSqlite(plainCatalogue(3)), dir, '--dry-run', '--json');
    expect(nothing.code).toBe(0);
    expect(JSON.parse(nothing.stdout)).toMatchObject({
      outcome: 'dry_run',
      counts: { games: 3 },
      previous_counts: null,
    });
    expect(currentId(dir)).toBe(undefined);

    await generate(await makeSqlite(plainCatalogue(3)), dir);
    const before = filesOf(dir);
    const more = await run(await makeSqlite(plainCatalogue(5)), dir, '--dry-run');
    expect(more.code).toBe(0);
    expect(more.stdout).toMatch(/5 games \(\+2\)/);
    const after = filesOf(dir);
    for (const name of ['lock.holder', 'report.json']) {
      before.delete(name);
      after.delete(name);
    }
    expect(after).toEqual(before);
  });

  test('--json prints one object with the outcome, the counts, the duration and the memory', async () => {
    const { stdout } = await generate(await makeSqlite(plainCatalogue(3)), newSnapshots(), [
      '--json',
    ]);
    expect(stdout.trimEnd().split('\n')).toHaveLength(1);
    expect(JSON.parse(stdout)).toEqual({
      outcome: 'published',
      error: null,
      id: expect.stringMatching(/^000001-[0-9a-f]{12}$/),
      counts: { platforms: 1, games: 3, covers: 3, cover_files: 0, left_out: 0 },
      previous_counts: null,
      left_out: [],
      warnings: [],
      report: {
        tables: expect.objectContaining({ games: { rows: 3, left_out: 0, reasons: {} } }),
        covers_gone_with_their_game: 0,
        rows: [],
        warnings: [],
      },
      seconds: expect.any(Number),
      stages: {
        'reading platforms': expect.any(Number),
        'reading games': expect.any(Number),
        'reading covers': expect.any(Number),
        'reading cover_files': expect.any(Number),
        'writing packs': expect.any(Number),
        'verifying and publishing': expect.any(Number),
      },
      read_all_because: expect.stringContaining('updated_at'),
      peak_memory_mb: expect.any(Number),
    });
  });

  test('exits with 2 on an unknown option or a wrong configuration, and names every fault', async () => {
    const usage = await run('sqlite:x.db', newSnapshots(), '--frce');
    expect(usage.code).toBe(2);
    expect(usage.stderr).toContain('--frce');
    const configuration = await runCommand(runGenerator, [], {
      SITE_URL: 'nowhere',
      FILES_URL: 'ftp://files.example',
    });
    expect(configuration.code).toBe(2);
    for (const name of ['DATABASE_URL', 'SITE_URL', 'FILES_URL']) {
      expect(configuration.stderr).toContain(name);
    }
  });

  test('--help explains the command on stdout', async () => {
    const { code, stdout, stderr } = await runProgram('generator/cli/main.ts', ['--help'], {});
    expect([code, stderr]).toEqual([0, '']);
    for (const option of ['--dry-run', '--force', '--json']) expect(stdout).toContain(option);
  });

  test('exits with 1 and one clear line if the database does not exist', async () => {
    const dir = newSnapshots();
    const { code, stderr } = await run(`sqlite:${path.join(dir, 'absent.db')}`, dir);
    expect(code).toBe(1);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(stderr).toContain('absent.db');
    expect(existsSync(path.join(dir, 'absent.db'))).toBe(false);
  });

  test('prints data only to stdout, and never a password', async () => {
    const url = 'mysql://someone:s3cret@127.0.0.1:1/nothing';
    const { code, stdout, stderr } = await run(url, newSnapshots());
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).not.toContain('s3cret');
  });
});
