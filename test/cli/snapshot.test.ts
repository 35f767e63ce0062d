/** `cover-catalogue snapshot`: each verb, on two generations that differ in known ways. */

import { cpSync, readFileSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { runSnapshot } from '#cli/snapshot.ts';
import { openDatabase } from '#lib/database/open.ts';
import { COVER_INDEX, MINISEARCH } from '#lib/format/layout.ts';
import { currentId, generationDir, idsOnDisk, readManifest } from '#lib/generations/generations.ts';
import { publishedAt } from '#lib/generations/history.ts';
import { makeSampleSnapshots, makeSampleSqlite } from '#test/catalogue/snapshots.ts';
import { change } from '#test/support/databases.ts';
import {
  generate,
  runCommand,
  runSnapshots,
  startProxy,
  testKey,
  writeKeys,
} from '#test/support/product.ts';
import { fitManifest, newSnapshots, runGenerator } from '#test/support/wholeness.ts';

const CHRONO =
  "games WHERE slug = 'chrono-trigger' AND platform_id = (SELECT id FROM platforms WHERE slug = 'snes')";

const snapshot = (...args: string[]) => runSnapshots(dir, ...args);

/** A folder with two generations, to be copied. */
const template = await makeSampleSnapshots();
const url = await makeSampleSqlite();
const database = await openDatabase(url);
const [[gone, goneFile], [kept, keptFile], [moved]] = (await database.rows(
  `SELECT c.id, MIN(path) FROM covers c JOIN cover_files ON cover_id = c.id WHERE status = 'approved' AND game_id = (SELECT id FROM ${CHRONO}) GROUP BY c.id LIMIT 3`,
)) as [number, string][];
await database.close();
await change(
  url,
  `INSERT INTO games (id, platform_id, slug, title) SELECT 900001, platform_id, 'a-new-game', 'A New Game' FROM ${CHRONO}`,
  "INSERT INTO covers (id, game_id, region, type, status) VALUES (900002, 900001, 'Europe', 'front', 'approved')",
  `UPDATE covers SET status = 'rejected' WHERE id = ${gone}`,
  `UPDATE games SET title = 'Trigger', developer = 'Someone else' WHERE id = (SELECT id FROM ${CHRONO})`,
  `UPDATE covers SET game_id = 900001 WHERE id = ${moved}`,
);
await generate(url, template);
let dir = template;
const [first, second] = idsOnDisk(dir) as [string, string];

describe('verbs that read', () => {
  test('list shows every generation with its counts, and marks the current one', async () => {
    const { code, stdout } = await snapshot('list');
    expect(code).toBe(0);
    const lines = stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatch(new RegExp(`^ {2}${first} {2}\\S+Z {2}\\d+ games, \\d+ covers$`));
    expect(lines[1]).toMatch(new RegExp(`^\\* ${second} `));
    // Copying a folder changes its time.
    utimesSync(generationDir(dir, first), 0, 0);
    const published_at = publishedAt(readManifest(generationDir(dir, first)));
    expect(JSON.parse((await snapshot('list', '--json')).stdout)).toMatchObject([
      { id: first, current: false, published_at },
      { id: second, current: true },
    ]);
  });

  test('show prints exactly the bytes of the response of the proxy', async () => {
    const key = testKey(1);
    writeKeys(dir, [key]);
    const proxy = await startProxy(dir);
    for (const target of [
      '/platforms',
      '/platforms/snes',
      '/platforms/snes/games',
      '/platforms/snes/games?page=2&per_page=3',
      '/platforms/snes/games?page=99',
      '/games/snes/chrono-trigger',
      '/games/snes/chrono-trigger/covers',
      '/games/snes/a-new-game/covers',
      '/covers/900002',
      '/covers/recent',
      '/stats',
      '/search?q=chrono',
      '/search?platform=snes&sort=title_desc&page=2&per_page=2',
    ]) {
      const reply = await proxy.get(target, key.key);
      expect(reply.status, target).toBe(200);
      expect((await snapshot('show', target)).stdout, target).toBe(reply.text);
    }
    await proxy.stop();
  });

  test('archive writes the bytes that the API sends', async () => {
    const key = testKey(1);
    writeKeys(dir, [key]);
    const proxy = await startProxy(dir);
    const { bytes } = await proxy.get('/snapshot/archive', key.key);
    await proxy.stop();
    const pieces: Buffer[] = [];
    const code = await runSnapshot({
      words: ['archive', '2'],
      variables: () => ({ SNAPSHOTS_DIR: dir }),
      stdout: { write: (piece) => pieces.push(Buffer.from(piece)) },
      stderr: process.stderr,
    });
    expect([code, Buffer.concat(pieces).equals(bytes)]).toEqual([0, true]);
  });

  test('show accepts an id, and reports a resource that does not exist', async () => {
    expect((await snapshot('show', '/games/snes/a-new-game', second)).code).toBe(0);
    const { code, stderr } = await snapshot('show', '/games/snes/a-new-game', first);
    expect(code).toBe(1);
    expect(stderr).toBe(`There is no /games/snes/a-new-game in ${first}.\n`);
  });

  test('diff lists members before and after, and a new title without its covers', async () => {
    const { code, stdout } = await snapshot('diff', '1', '2');
    expect(code).toBe(0);
    const [summary, ...lines] = stdout.trimEnd().split('\n');
    expect(summary).toContain(
      '1 game added; 1 cover removed; 1 cover changed: game.slug, game.title',
    );
    expect(lines).toContain('+ /games/snes/a-new-game');
    expect(lines).toContain(
      '~ /games/snes/chrono-trigger  title: "Chrono Trigger" → "Trigger", developer: "Square" → "Someone else", cover_count: 7 → 5',
    );
    expect(lines).toContain('+ /covers/900002');
    expect(lines).toContain(
      `~ /covers/${moved}  game.slug: "chrono-trigger" → "a-new-game", game.title: "Chrono Trigger" → "A New Game"`,
    );
    expect(lines.filter((line) => / \/(?:games|covers)\//.test(line))).toHaveLength(5);
    expect(lines.filter((line) => line.startsWith('- /covers/'))).toEqual([`- /covers/${gone}`]);
    const back = JSON.parse((await snapshot('diff', second, '1', '--json')).stdout);
    expect(back).toMatchObject({ from: second, to: first });
    expect(back.data).toContainEqual({
      ...{ change: 'removed', kind: 'game', id: 900001, path: '/games/snes/a-new-game' },
      members: {},
    });
    expect(back.data).toContainEqual({
      ...{ change: 'changed', kind: 'game', id: expect.any(Number) },
      path: '/games/snes/chrono-trigger',
      members: expect.objectContaining({ developer: ['Someone else', 'Square'] }),
    });
    expect(await snapshot('diff', '2')).toMatchObject({
      ...{ code: 0, stdout: '', stderr: `Both are ${second}: nothing differs.\n` },
    });
  });

  test('why says since when a record is public, and why another one is not', async () => {
    const why = async (name: string, databaseUrl = '') => {
      const variables = { SNAPSHOTS_DIR: dir, DATABASE_URL: databaseUrl };
      return (await runCommand(runSnapshot, ['why', name], variables)).stdout.trimEnd().split('\n');
    };
    const [since] = [expect.stringContaining(`is public since ${second} (20`)];
    expect(await why('/covers/900002')).toEqual([since]);
    expect(await why('snes/a-new-game')).toEqual([since]);
    expect(await why('a-new-game', url)).toEqual([since]);
    expect(await why('/games/snes/chrono-trigger')).toEqual([
      expect.stringMatching(`is public since ${first} or earlier, last changed in ${second}`),
    ]);
    const removed = `/covers/${gone} is not public: removed in ${second}`;
    expect(await why(String(gone))).toEqual([expect.stringContaining(removed)]);
    expect(await why(goneFile, url)).toEqual([
      expect.stringContaining(removed),
      `  Row ${gone} of covers has the status "rejected".`,
    ]);

    const later = await makeSampleSqlite();
    await change(
      later,
      "INSERT INTO covers (id, game_id, status) VALUES (900003, 900004, 'approved')",
      "INSERT INTO games (id, platform_id, slug, title) SELECT 900004, id, 'zelda/2', '' FROM platforms WHERE slug = 'snes'",
      `UPDATE covers SET status = 'ok' WHERE id = ${kept}`,
      // A table without the constraint that slugs are unique.
      'CREATE TABLE loose AS SELECT * FROM games',
      'ALTER TABLE games RENAME TO strict',
      'ALTER TABLE loose RENAME TO games',
      `INSERT INTO games (id, platform_id, slug, title) SELECT 900007, platform_id, slug, 'Twin' FROM ${CHRONO}`,
    );
    const never = `is not public: no generation since ${first} has had it.`;
    const leftOut = '  Row 900004 of games is left out: slug does not fit a path: "zelda/2".';
    expect(await why('zelda/2', later)).toEqual([`/games/snes/zelda/2 ${never}`, leftOut]);
    expect(await why('/covers/900003', later)).toEqual([`/covers/900003 ${never}`, leftOut]);
    expect(await why(String(kept), later)).toEqual([
      expect.stringContaining(`/covers/${kept} is public since ${first} or earlier`),
      `  Row ${kept} of covers has the status "ok".`,
      '  The next run removes it.',
    ]);
    expect(await why(String(gone), later)).toContain('  The next run publishes it.');
    expect(await why('snes/chrono-trigger', later)).toEqual([
      expect.stringMatching(`^/games/snes/chrono-trigger is public since ${first}`),
    ]);
    expect(await why('900007', later)).toEqual([
      '/games/snes/chrono-trigger is the path of another game.',
      '  Row 900007 of games is left out: the slug appears twice on its platform: "chrono-trigger".',
    ]);
    expect(await why('100%.png', later)).toEqual(['']);
    expect(await why(keptFile)).toEqual([expect.stringContaining(`/covers/${kept} is public`)]);
    const game = '/games/snes/chrono-trigger';
    for (const word of [
      'https://covers.example/en/platform/snes/game/chrono-trigger',
      ...[keptFile, `/${keptFile}`],
    ])
      expect([word, await why(word)]).toEqual([
        word,
        [expect.stringMatching(word.startsWith('http') ? `^${game} is` : `^/covers/${kept} is`)],
      ]);
    const { code, stderr } = await snapshot('why', '/covers/424242');
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining(`No generation since ${first} has /covers/424242.`),
    ]);
    for (const [word, number] of [
      ['/games/900001', '900001'],
      ['/covers/gone', '901'],
    ])
      expect((await snapshot('why', word)).stderr).toMatch(
        new RegExp(
          `\n${word} is not the path of a record: .*the number alone, such as ${number}\\.\n$`,
        ),
      );
  });
});

test.each([
  ['{site}/{platform}/{game}', '{site}/{platform}', '/snes/chrono-trigger', '/snes'],
  [
    '{site}/game.php?id={id}',
    '{site}/?p={platform}&l={language}',
    '/game.php?id=ID',
    '/?p=snes&l=en',
  ],
])('why knows addresses of games as in GAME_URL=%s', async (game, platform, ofGame, ofPlatform) => {
  const own = newSnapshots();
  const templates = { GAME_URL: game, PLATFORM_URL: platform };
  expect((await runGenerator(url, own, [], templates)).code).toBe(0);
  const { id } = JSON.parse((await runSnapshots(own, 'show', '/games/snes/chrono-trigger')).stdout);
  for (const [address, name] of [
    [ofGame.replace('ID', id), '/games/snes/chrono-trigger'],
    [ofPlatform, '/platforms/snes'],
  ]) {
    const { stdout } = await runSnapshots(own, 'why', `https://covers.example${address}`);
    expect(stdout).toMatch(new RegExp(`^${name} is public since `));
  }
});

test('why names the path that a renamed game has now, and the record that had a file', async () => {
  const changed = await makeSampleSqlite();
  const renamed = newSnapshots();
  await generate(changed, renamed);
  const variables = { SNAPSHOTS_DIR: renamed, DATABASE_URL: changed };
  const why = async (name: string) =>
    (await runCommand(runSnapshot, ['why', name], variables)).stdout.trimEnd().split('\n');
  await change(
    changed,
    `UPDATE games SET slug = 'chrono' WHERE id = (SELECT id FROM ${CHRONO})`,
    `UPDATE cover_files SET path = 'new/file.jpg' WHERE path = '${keptFile}'`,
    "INSERT INTO games (id, platform_id, slug, title) VALUES (900005, 900006, 'orphan', 'Orphan')",
  );
  const old = '/games/snes/chrono-trigger';
  expect(await why(old)).toEqual([
    expect.stringMatching(`^${old} is public`),
    ...['  The database has it as /games/snes/chrono.', '  The next run removes it.'],
  ]);
  await generate(changed, renamed);
  const database = '  The database has it as /games/snes/chrono.';
  expect(await why('snes/chrono-trigger')).toEqual([`${old} is now /games/snes/chrono.`, database]);
  expect(await why(keptFile)).toEqual([
    expect.stringMatching(`^/covers/${kept} is public .*, last changed in 000002`),
  ]);
  expect((await why('900005'))[0]).toMatch(/^\/games\/\(no platform\)\/orphan is not public/);
});

test('why answers from the snapshot while the database is away or fails, and says so', async () => {
  const broken = await makeSampleSqlite();
  await change(broken, 'DROP TABLE covers');
  for (const [away, fault] of [
    ['mysql://u:p@127.0.0.1:1/x', 'was not asked: No database server listens'],
    [`sqlite:${dir}/none.db`, 'was not asked: .*none.db'],
    [broken, 'did not answer: .*covers'],
  ] as const) {
    const variables = { SNAPSHOTS_DIR: dir, DATABASE_URL: away };
    const { code, stdout, stderr } = await runCommand(
      runSnapshot,
      ['why', '/covers/900002'],
      variables,
    );
    expect([code, stdout]).toEqual([0, expect.stringContaining('/covers/900002 is public since')]);
    expect(stderr).toMatch(new RegExp(`^The database ${fault}`));
  }
});

describe('verbs that change something', () => {
  beforeEach(() => {
    dir = newSnapshots();
    cpSync(template, dir, { recursive: true, verbatimSymlinks: true });
  });

  test('verify and rollback refuse a damaged generation and name the file', async () => {
    truncateSync(path.join(generationDir(dir, first), COVER_INDEX), 100);
    for (const verb of ['verify', 'rollback']) {
      const { code, stderr } = await snapshot(verb, first);
      expect(code, verb).toBe(1);
      expect(stderr).toContain(COVER_INDEX);
    }
    expect(currentId(dir)).toBe(second);
    expect((await snapshot('verify')).stdout).toContain(`${second} is complete and undamaged`);
  });

  test('verify refuses a search.json that MiniSearch cannot load, though its hash is right', async () => {
    const file = path.join(generationDir(dir, second), MINISEARCH);
    const search = JSON.parse(readFileSync(file, 'utf8'));
    writeFileSync(file, JSON.stringify({ ...search, serializationVersion: 99 }));
    const { code, stdout, stderr } = await snapshot('verify', fitManifest(dir, second));
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain('MiniSearch cannot load search.json');
  });
});

test('wrong usage ends with 2, and an unknown generation with 1', async () => {
  for (const line of ['', 'explode', 'show', 'diff', 'list --colour', 'prune --keep 0']) {
    const { code, stdout, stderr } = await snapshot(...line.split(' ').filter(Boolean));
    expect([code, stdout], line).toEqual([2, '']);
    expect(stderr).not.toBe('');
  }
  expect(await snapshot('why', '')).toMatchObject({ code: 2, stderr: 'NAME must not be empty.\n' });
  for (const id of ['nonsense', '../../etc', '000009-0123456789ab']) {
    const { code, stderr } = await snapshot('rollback', id);
    expect(code).toBe(1);
    expect(stderr).toContain(`There is no generation ${JSON.stringify(id)}`);
  }
});
