/**
 * What an operator sees of rows that are left out: which runs are refused, and the report with ids,
 * values and reasons, in a file and on stdout. `test/generator/report.test.ts` has the limits.
 */
import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import type { Row } from '../../../database/database.ts';
import { currentId } from '../../../generations/generations.ts';
import { fixtureCatalogue } from '../../catalogue/fixture.ts';
import { catalogueOf, game, plainCatalogue } from '../../catalogue/plain.ts';
import { makeSqlite } from '../../catalogue/snapshots.ts';
import { change } from '../../support/databases.ts';
import { generate } from '../../support/product.ts';
import {
  expectNoDebris,
  newSnapshots,
  published,
  reportOf,
  runGenerator,
  statusOf,
} from '../../support/wholeness.ts';

const run = (url: string, dir: string, ...args: string[]) => runGenerator(url, dir, args);
const countsOf = (dir: string) => published(dir, 'manifest.json').counts;

test('no file of a generation names a row that is not public, and the manifest counts them', async () => {
  const dir = newSnapshots();
  const url = await makeSqlite(fixtureCatalogue());
  await generate(url, dir, ['--force']);
  await change(
    url,
    "UPDATE covers SET status = 'spam' WHERE id = 501",
    'UPDATE games SET platform_id = 77 WHERE id = 12',
  );
  await generate(url, dir, ['--force']);
  expect(readFileSync(path.join(dir, 'report.json'), 'utf8')).toContain('"id":12,');

  const generation = path.join(dir, 'current/');
  const names = readdirSync(generation, { recursive: true, encoding: 'utf8' });
  expect(names).not.toContain('report.json');
  expect(countsOf(dir).left_out).toBeGreaterThan(0);
  for (const name of names.filter((each) => /\.(?:json|bin)$/.test(each))) {
    const text = readFileSync(path.join(generation, name), 'latin1');
    for (const secret of ['hidden.png', 'f-zero', 'chrono trigger #1', '"id":501,', 'no such']) {
      expect(text.includes(secret), `${secret} in ${name}`).toBe(false);
    }
  }
});

test('the first games without any approved cover need --force, and an empty catalogue does not count', async () => {
  const dir = newSnapshots();
  await generate(await makeSqlite(catalogueOf({})), dir);
  for (const list of ['platforms.json', 'covers-recent.json']) {
    expect(published(dir, list)).toEqual({ data: [] });
  }
  expect(published(dir, 'stats.json')).toMatchObject({ games: 0, covers: 0 });
  const empty = currentId(dir);
  const url = await makeSqlite(plainCatalogue(20), "UPDATE covers SET status = 'pending'");
  const { code, stderr } = await run(url, dir);
  expect([code, currentId(dir)]).toEqual([3, empty]);
  expect(stderr).toMatch(/not one of 20 games has an approved cover.*--force/);
  expect(statusOf(dir)).toMatchObject({ outcome: 'refused', error: expect.stringMatching('20') });
  await generate(url, dir, ['--force']);
  await change(url, "UPDATE games SET title = 'Another' WHERE id = 1");
  await generate(url, dir);
  expect(countsOf(dir)).toMatchObject({ games: 20, covers: 0 });
});

test('covers with an unknown status are taken down, unless they are more than a fifth: then the refusal says how many wait', async () => {
  const url = await makeSqlite(plainCatalogue(100));
  const dir = newSnapshots();
  await generate(url, dir);
  await change(url, "UPDATE covers SET status = 'deleted' WHERE id <= 20");
  const { stderr: warned } = await generate(url, dir);
  const reason = 'the status is not approved, pending or rejected: not public';
  expect(warned).toContain(`Warning: 20 of covers: ${reason}.\n`);
  expect(countsOf(dir)).toMatchObject({ covers: 80, left_out: 0 });
  expect(reportOf(dir)).toMatchObject({
    tables: { covers: { rows: 100, left_out: 0, reasons: {} } },
    warnings: [{ reason, count: 20 }],
    takedowns_waiting: null,
  });
  await change(url, "UPDATE covers SET status = 'removed' WHERE id <= 40");
  const { code, stderr } = await run(url, dir);
  expect(code).toBe(3);
  expect(stderr).toContain('covers fall from 80 to 60, by more than 20 %');
  expect(stderr).toContain('with 20 covers that this run would have taken down');
  expect(reportOf(dir)).toMatchObject({ outcome: 'refused', takedowns_waiting: 20 });
  await generate(url, dir, ['--force']);
  expect(reportOf(dir)).toMatchObject({ outcome: 'published', takedowns_waiting: null });
});

test.each([
  ['a game', 'DELETE FROM games WHERE id <= 15', 84],
  ['a cover', 'DELETE FROM covers WHERE id <= 15', 84],
  // One of eight, with its games.
  ['a platform', 'DELETE FROM platforms WHERE id = 1', 87],
  ['a platform that is left out', "UPDATE platforms SET slug = 'no/slug' WHERE id = 1", 87],
])('%s that is gone without what belongs to it stops no takedown', async (_, deletion, covers) => {
  const catalogue = plainCatalogue(100);
  const files = catalogue.games.map(([id]): Row => [id, id, ...Array(5).fill(null), 'a.png']);
  const url = await makeSqlite({ ...catalogue, coverFiles: files });
  const dir = newSnapshots();
  await generate(url, dir);
  await change(url, deletion, "UPDATE covers SET status = 'rejected' WHERE id = 50");
  await generate(url, dir);
  expect(countsOf(dir).covers).toBe(covers);
});

test('a refused run lists ids, values and reasons, safe to print, the first 100 rows for each reason', async () => {
  const { games, ...rest } = plainCatalogue(200);
  const orphans = Array.from({ length: 250 }, (_, i) => game(1001 + i, 99));
  // And one game for each kind of value that is hard to print.
  const url = await makeSqlite(
    { ...rest, games: [...games, ...orphans] },
    "UPDATE games SET slug = 'esc' || char(27) || '[31m' || char(155) || 'x' WHERE id = 1",
    "UPDATE games SET slug = 'right to left ' || char(8238) || char(917505) WHERE id = 2",
    "UPDATE games SET slug = replace(hex(zeroblob(5000000)), '0', 'x') WHERE id = 3",
    "UPDATE games SET slug = CAST(X'61FF62' AS TEXT) WHERE id = 4",
  );
  for (const args of [['--json', '--dry-run'], ['--json']]) {
    const dir = newSnapshots();
    const { code, stdout, stderr } = await run(url, dir, ...args);
    expect([code, currentId(dir)]).toEqual([3, undefined]);
    expectNoDebris(dir);
    const file = path.join(dir, 'report.json');
    expect(stderr).toContain(`The rows are listed in ${file}.`);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const text = readFileSync(file, 'utf8');
    for (const each of [text, stdout, stderr]) {
      expect(each.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    }
    expect(text.length).toBeLessThan(50_000);
    const { finished_at, outcome, error, takedowns_waiting, ...content } = reportOf(dir);
    expect(finished_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    expect([outcome, error, takedowns_waiting]).toEqual([
      'refused',
      expect.stringMatching('games'),
      0,
    ]);
    const printed = JSON.parse(stdout);
    expect(printed).toMatchObject({ outcome, id: null, error: expect.stringContaining(error) });
    expect(printed.report).toEqual(content);

    const rowsWith = (wanted: string) =>
      content.rows.filter(({ reason }: { reason: string }) => reason === wanted);
    const reason = 'the platform does not exist';
    expect(content.tables.games.reasons[reason]).toBe(250);
    const listed = rowsWith(reason);
    expect(listed).toHaveLength(100);
    expect(listed[99]).toEqual({ table: 'games', id: 1100, reason, value: 99 });
    expect(
      rowsWith('slug does not fit a path').map(({ value }: { value: unknown }) => value),
    ).toEqual([
      'esc\u001b[31m\u009bx',
      'right to left \u202e\u{e0001}',
      `${'x'.repeat(200)}… (10000000 characters)`,
      'a\ufffdb',
    ]);
  }
});

test('a report that cannot be written does not change the outcome of a run', async () => {
  const dir = newSnapshots();
  // The folder is not empty, because an empty one would be replaced.
  mkdirSync(path.join(dir, 'report.json', 'full'), { recursive: true });
  const url = await makeSqlite(plainCatalogue(20), "UPDATE games SET slug = 'no/slug-' || id");
  const refused = await run(url, dir);
  expect(refused.code).toBe(3);
  expect(refused.stderr.trimEnd().split('\n').at(-1)).toMatch(/^Nothing is published: .*--force/);
  expect(refused.stderr).toContain('The report of this run could not be written');
  expect(refused.stderr).not.toContain('The rows are listed');
  expect(statusOf(dir)).toMatchObject({ outcome: 'refused' });
  await generate(await makeSqlite(plainCatalogue(20)), dir);
  expect(currentId(dir)).toBeDefined();
});

test('the report gives the outcome: dry run, published or unchanged', async () => {
  const url = await makeSqlite(plainCatalogue(20));
  const dir = newSnapshots();
  for (const [outcome, ...args] of [['dry_run', '--dry-run'], ['published'], ['unchanged']]) {
    await generate(url, dir, args);
    expect(reportOf(dir)).toMatchObject({ outcome, error: null, rows: [], warnings: [] });
  }
});
