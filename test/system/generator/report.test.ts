/**
 * What an operator sees of rows that are left out: which runs are refused, and the report with ids,
 * values and reasons, in a file and on stdout.
 */
import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { openDatabase } from '../../../database/open.ts';
import { currentId, listGenerations } from '../../../store/generations/generations.ts';
import { fixtureCatalogue } from '../../catalogue/fixture.ts';
import { game, plainCatalogue } from '../../catalogue/plain.ts';
import { makeSqlite } from '../../catalogue/snapshots.ts';
import { generate } from '../../support/product.ts';
import { newSnapshots, runGenerator, statusOf } from '../../support/wholeness.ts';

/** Runs statements on a database. */
async function change(url: string, ...statements: string[]): Promise<void> {
  const database = await openDatabase(url);
  for (const sql of statements) await database.run(sql);
  await database.close();
}

const run = (url: string, dir: string, ...args: string[]) => runGenerator(url, dir, args);
const json = (file: string) => JSON.parse(readFileSync(file, 'utf8'));
const reportOf = (dir: string) => json(path.join(dir, 'report.json'));
const published = (dir: string, name: string) => json(path.join(dir, 'current', name));

test('no file of a generation names a row that is not public, and the manifest counts them', async () => {
  const dir = newSnapshots();
  const url = await makeSqlite(fixtureCatalogue());
  expect((await run(url, dir, '--force')).code).toBe(0);
  await change(url, "UPDATE covers SET status = 'spam' WHERE id = 501");
  await change(url, 'UPDATE games SET platform_id = 77 WHERE id = 12');
  expect((await run(url, dir, '--force')).code).toBe(0);
  const report = readFileSync(path.join(dir, 'report.json'), 'utf8');
  expect(report).toContain('"id":12,');

  const generation = path.join(dir, 'current/');
  const names = readdirSync(generation, { recursive: true, encoding: 'utf8' });
  expect(names).not.toContain('report.json');
  expect(published(dir, 'manifest.json').counts.left_out).toBeGreaterThan(0);
  for (const name of names.filter((each) => /\.(?:json|bin)$/.test(each))) {
    const text = readFileSync(path.join(generation, name), 'latin1');
    for (const secret of ['hidden.png', 'f-zero', 'chrono trigger #1', '"id":501,', 'no such']) {
      expect(text.includes(secret), `${secret} in ${name}`).toBe(false);
    }
  }
});

describe('a first generation', () => {
  test('with games and no approved cover needs --force, and the next one does not', async () => {
    const url = await makeSqlite(plainCatalogue(20));
    await change(url, "UPDATE covers SET status = 'pending'");
    const dir = newSnapshots();
    const { code, stderr } = await run(url, dir);
    expect([code, currentId(dir)]).toEqual([3, undefined]);
    expect(stderr).toContain('not one of 20 games has an approved cover');
    expect(stderr).toContain('--force');
    expect(statusOf(dir)).toMatchObject({ outcome: 'refused' });
    expect((await run(url, dir, '--force')).code).toBe(0);
    await change(url, "UPDATE games SET title = 'Another' WHERE id = 1");
    expect((await run(url, dir)).code).toBe(0);
    expect(listGenerations(dir)).toHaveLength(2);
  });

  test('with games and one approved cover is published', async () => {
    const url = await makeSqlite(plainCatalogue(20));
    await change(url, "UPDATE covers SET status = 'pending' WHERE id > 1");
    const dir = newSnapshots();
    expect((await run(url, dir)).code).toBe(0);
    expect(published(dir, 'manifest.json').counts).toMatchObject({ games: 20, covers: 1 });
  });

  test('from an empty catalogue does not count as the first one', async () => {
    const empty = { platforms: [], games: [], covers: [], coverFiles: [], accounts: [] };
    const dir = newSnapshots();
    expect((await run(await makeSqlite(empty), dir)).code).toBe(0);
    const catalogue = plainCatalogue(20);
    const url = await makeSqlite({ ...catalogue, covers: [] });
    expect((await run(url, dir)).code).toBe(3);
  });
});

describe('covers with unknown statuses', () => {
  test('are not public, with a warning, however many there are', async () => {
    const url = await makeSqlite(plainCatalogue(10));
    await change(url, "UPDATE covers SET status = 'deleted' WHERE id <= 7");
    const dir = newSnapshots();
    const { stderr } = await generate(url, dir);
    const reason = 'the status is "deleted", not approved, pending or rejected: not public';
    expect(stderr).toContain(`Warning: 7 of covers: ${reason}.\n`);
    const { tables, warnings, takedowns_waiting: waiting } = reportOf(dir);
    expect(tables.covers).toEqual({ rows: 10, left_out: 0, reasons: {} });
    expect(warnings).toContainEqual(expect.objectContaining({ reason, count: 7 }));
    expect(waiting).toBeNull();
    expect(published(dir, 'manifest.json').counts).toMatchObject({ covers: 3, left_out: 0 });
  });

  test('are counted together from the 21st different status on', async () => {
    const url = await makeSqlite(plainCatalogue(25));
    await change(
      url,
      "UPDATE covers SET status = 'status ' || id || hex(zeroblob(50)) WHERE id < 25",
    );
    const dir = newSnapshots();
    await generate(url, dir);
    const { warnings }: { warnings: { reason: string; count: number }[] } = reportOf(dir);
    const ofStatus = warnings.filter(({ reason }) => reason.startsWith('the status is'));
    expect(ofStatus).toHaveLength(21);
    expect(ofStatus.at(-1)?.count).toBe(4);
    expect(Math.max(...ofStatus.map(({ reason }) => reason.length))).toBeLessThan(170);
  });

  test('take down covers at once, unless these are more than a fifth; then the refusal says how many wait', async () => {
    const url = await makeSqlite(plainCatalogue(100));
    const dir = newSnapshots();
    await generate(url, dir);
    await change(url, "UPDATE covers SET status = 'deleted' WHERE id <= 20");
    await generate(url, dir);
    expect(published(dir, 'manifest.json').counts.covers).toBe(80);
    await change(url, "UPDATE covers SET status = 'removed' WHERE id <= 40");
    const { code, stderr } = await run(url, dir);
    expect(code).toBe(3);
    expect(stderr).toContain('covers fall from 80 to 60, by more than 20 %');
    expect(stderr).toContain('with 20 covers that this run would have taken down');
    expect(reportOf(dir)).toMatchObject({ outcome: 'refused', takedowns_waiting: 20 });
    expect((await run(url, dir, '--force')).code).toBe(0);
    expect(reportOf(dir)).toMatchObject({ outcome: 'published', takedowns_waiting: null });
  });
});

test.each([
  ['a game', 'DELETE FROM games WHERE id <= 15'],
  ['a cover', 'DELETE FROM covers WHERE id <= 15'],
])('%s that was deleted without what belongs to it stops no takedown', async (_, deletion) => {
  const url = await makeSqlite(plainCatalogue(100));
  const dir = newSnapshots();
  await generate(url, dir);
  await change(url, deletion);
  await change(url, "UPDATE covers SET status = 'rejected' WHERE id = 50");
  await generate(url, dir);
  expect(published(dir, 'manifest.json').counts.covers).toBe(84);
});

describe('bad rows of a small table', () => {
  const withBadPlatforms = async (count: number) => {
    const url = await makeSqlite(plainCatalogue(160));
    await change(url, `UPDATE platforms SET slug = 'no/slug-' || id WHERE id <= ${count}`);
    return url;
  };

  test('if one platform of eight is bad, it is left out with its games', async () => {
    const dir = newSnapshots();
    await generate(await withBadPlatforms(1), dir);
    expect(published(dir, 'manifest.json').counts).toMatchObject({ platforms: 7, games: 140 });
    expect(reportOf(dir).tables).toMatchObject({
      platforms: { left_out: 1 },
      games: { left_out: 20, reasons: { 'its platform is left out': 20 } },
    });
  });

  test.each([5, 8])('if %i platforms of eight are bad, the run is refused', async (count) => {
    const { code, stderr } = await run(await withBadPlatforms(count), newSnapshots());
    expect(code).toBe(3);
    expect(stderr).toContain(`${count} of 8 rows of platforms are left out, more than half`);
  });
});

describe('the report of a run', () => {
  let bad: Promise<string> | undefined;
  const makeBad = () => {
    bad ??= makeBadOnce();
    return bad;
  };

  /** More games without a platform than with one, and one game for each kind of value that is hard to print. */
  async function makeBadOnce() {
    const catalogue = plainCatalogue(200);
    const orphans = Array.from({ length: 250 }, (_, i) => game(1001 + i, 99));
    const url = await makeSqlite({ ...catalogue, games: [...catalogue.games, ...orphans] });
    await change(
      url,
      "UPDATE games SET slug = 'esc' || char(27) || '[31m' || char(155) || 'x' WHERE id = 1",
      "UPDATE games SET slug = 'right to left ' || char(8238) || char(917505) WHERE id = 2",
      "UPDATE games SET slug = replace(hex(zeroblob(5000000)), '0', 'x') WHERE id = 3",
      "UPDATE games SET slug = CAST(X'61FF62' AS TEXT) WHERE id = 4",
    );
    return url;
  }

  test('lists ids, values and reasons if the run is refused, the first 100 rows for each reason', async () => {
    const url = await makeBad();
    const dir = newSnapshots();
    const { code, stdout, stderr } = await run(url, dir, '--json');
    expect(code).toBe(3);
    const file = path.join(dir, 'report.json');
    expect(stderr).toContain(`The rows are listed in ${file}.`);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const report = reportOf(dir);
    expect(report).toMatchObject({ outcome: 'refused', error: expect.stringContaining('games') });
    expect(report.finished_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    const { finished_at, outcome, error, takedowns_waiting, ...content } = report;
    const printed = JSON.parse(stdout);
    expect(printed).toMatchObject({ outcome, id: null, error: expect.stringContaining(error) });
    expect(printed.report).toEqual(content);

    expect(report.tables.games.reasons['the platform does not exist']).toBe(250);
    const orphans = report.rows.filter(
      ({ reason }: { reason: string }) => reason === 'the platform does not exist',
    );
    expect(orphans).toHaveLength(100);
    expect(orphans[99]).toEqual({
      table: 'games',
      id: 1100,
      reason: 'the platform does not exist',
      value: 99,
    });
  });

  test('is safe to print and stays small with any values', async () => {
    const dir = newSnapshots();
    const { stdout, stderr } = await run(await makeBad(), dir, '--json');
    const file = readFileSync(path.join(dir, 'report.json'), 'utf8');
    for (const text of [file, stdout, stderr]) {
      expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    }
    expect(file.length).toBeLessThan(50_000);
    const values = reportOf(dir)
      .rows.filter(({ reason }: { reason: string }) => reason === 'slug does not fit a path')
      .map(({ value }: { value: unknown }) => value);
    expect(values).toEqual([
      'esc\u001b[31m\u009bx',
      'right to left \u202e\u{e0001}',
      `${'x'.repeat(200)}… (10000000 characters)`,
      'a\ufffdb',
    ]);
  });

  test('does not change the outcome of the run if it cannot be written', async () => {
    const dir = newSnapshots();
    // The folder is not empty, because an empty one would be replaced.
    mkdirSync(path.join(dir, 'report.json', 'full'), { recursive: true });
    const refused = await run(await makeBad(), dir);
    expect(refused.code).toBe(3);
    expect(refused.stderr.trimEnd().split('\n').at(-1)).toMatch(/^Nothing is published: .*--force/);
    expect(refused.stderr).toContain('The report of this run could not be written');
    expect(refused.stderr).not.toContain('The rows are listed');
    expect(statusOf(dir)).toMatchObject({ outcome: 'refused' });
    expect((await run(await makeSqlite(plainCatalogue(20)), dir)).code).toBe(0);
    expect(currentId(dir)).toBeDefined();
  });

  test('is also written and printed for a dry run that would be refused', async () => {
    const dir = newSnapshots();
    const { code, stdout } = await run(await makeBad(), dir, '--dry-run', '--json');
    expect([code, currentId(dir)]).toEqual([3, undefined]);
    expect(JSON.parse(stdout).report.rows).toEqual(reportOf(dir).rows);
    expect(reportOf(dir).rows.length).toBeGreaterThan(100);
  });

  test('gives the outcome: dry run, published or unchanged', async () => {
    const url = await makeSqlite(plainCatalogue(20));
    const dir = newSnapshots();
    for (const [outcome, ...args] of [['dry_run', '--dry-run'], ['published'], ['unchanged']]) {
      await generate(url, dir, args);
      expect(reportOf(dir)).toMatchObject({ outcome, error: null, rows: [], warnings: [] });
    }
  });
});
