/**
 * What an operator sees of rows that are left out: which runs are refused, and the report with ids,
 * values and reasons, in a file and on stdout. `test/generator/report.test.ts` has the limits.
 */
import { mkdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { runSnapshot } from '#cli/snapshot.ts';
import type { Row } from '#lib/database/database.ts';
import { currentId } from '#lib/generations/generations.ts';
import { catalogueOf, game, plainCatalogue } from '#test/catalogue/plain.ts';
import { makeSqlite } from '#test/catalogue/snapshots.ts';
import { change } from '#test/support/databases.ts';
import { generate, runCommand } from '#test/support/product.ts';
import {
  expectNoDebris,
  newSnapshots,
  published,
  reportOf,
  runGenerator,
  statusOf,
} from '#test/support/wholeness.ts';

const run = (url: string, dir: string, ...args: string[]) => runGenerator(url, dir, args);
const countsOf = (dir: string) => published(dir, 'manifest.json').counts;

test('an empty catalogue is published, and its first games without any cover need --force', async () => {
  const dir = newSnapshots();
  await generate(await makeSqlite(catalogueOf({})), dir);
  expect(published(dir, 'platforms.json')).toEqual({ data: [] });
  expect(published(dir, 'covers-recent.json')).toEqual({ data: [] });
  expect(published(dir, 'stats.json')).toMatchObject({ games: 0, covers: 0 });
  const show = await runCommand(runSnapshot, ['show', '/search?q=any'], { SNAPSHOTS_DIR: dir });
  expect(JSON.parse(show.stdout)).toMatchObject({ data: [] });
  const empty = currentId(dir);
  const url = await makeSqlite(plainCatalogue(20), "UPDATE covers SET status = 'pending'");
  const { code, stderr } = await run(url, dir);
  expect([code, currentId(dir)]).toEqual([3, empty]);
  expect(stderr).toMatch(/not one of 20 games has an approved cover.*--force/);
  expect(statusOf(dir)).toMatchObject({ outcome: 'refused', error: expect.stringMatching('20') });
  await generate(url, dir, ['--force']);
  expect(countsOf(dir)).toMatchObject({ games: 20, covers: 0 });
});

test('covers with an unknown status are taken down, unless they are more than a fifth: then the refusal says how many wait', async () => {
  const url = await makeSqlite(plainCatalogue(100));
  const dir = newSnapshots();
  await generate(url, dir);
  await change(url, "UPDATE covers SET status = 'deleted' WHERE id <= 20");
  const { stderr: warned, stdout } = await generate(url, dir);
  expect(stdout).toContain('0 rows left out, covers not public: deleted: 20; ');
  expect(reportOf(dir).not_public).toEqual({ deleted: 20 });
  const reason = 'the status is not approved, pending or rejected: not public (deleted: 20)';
  expect(warned).toContain(`Warning: 20 of covers: ${reason}.\n`);
  expect(countsOf(dir)).toMatchObject({ covers: 80, left_out: 0 });
  expect(reportOf(dir).warnings).toContainEqual({ table: 'covers', reason, count: 20, rows: [] });
  expect(reportOf(dir).takedowns_waiting).toBeNull();
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

test('a refused run lists its rows in the report and on stdout, safe to print', async () => {
  const { games, ...rest } = plainCatalogue(20);
  // More than are listed, and one game for each kind of value that is hard to print.
  const url = await makeSqlite(
    { ...rest, games: [...games, ...Array.from({ length: 101 }, (_, i) => game(1001 + i, 99))] },
    "UPDATE games SET slug = 'esc' || char(27) || '[31m' || char(8238) || 'x' WHERE id = 1",
    "UPDATE games SET slug = replace(hex(zeroblob(5000000)), '0', 'x') WHERE id = 2",
    "UPDATE games SET slug = CAST(X'61FF62' AS TEXT) WHERE id = 3",
  );
  for (const args of [['--json', '--dry-run'], ['--json']]) {
    const dir = newSnapshots();
    const { code, stdout, stderr } = await run(url, dir, ...args);
    expect([code, currentId(dir)]).toEqual([3, undefined]);
    expectNoDebris(dir);
    const file = path.join(dir, 'report.json');
    expect(stderr).toContain(`The rows are listed in ${file}.`);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    for (const each of [readFileSync(file, 'utf8'), stdout, stderr]) {
      expect(each.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
      expect(each.length).toBeLessThan(50_000);
    }
    const { finished_at, outcome, error, takedowns_waiting, ...content } = reportOf(dir);
    expect(finished_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    expect([outcome, takedowns_waiting]).toEqual(['refused', 0]);
    expect(error).toContain('games');
    const printed = JSON.parse(stdout);
    expect(printed).toMatchObject({ outcome, id: null, error: expect.stringContaining(error) });
    expect(printed.report).toEqual(content);
    const reasons = ['slug does not fit a path', 'the platform does not exist'] as const;
    expect(content.tables.games.reasons).toEqual({ [reasons[0]]: 3, [reasons[1]]: 101 });
    expect(content.rows).toHaveLength(103);
    expect(content.rows.slice(0, 4)).toEqual([
      { table: 'games', id: 1, reason: reasons[0], value: 'esc\u001b[31m\u202ex' },
      expect.objectContaining({ value: `${'x'.repeat(200)}… (10000000 characters)` }),
      expect.objectContaining({ value: 'a\ufffdb' }),
      { table: 'games', id: 1001, reason: reasons[1], value: 99 },
    ]);
  }
});

test('a report that cannot be written does not change the outcome of a run', async () => {
  const dir = newSnapshots();
  // The folder is not empty, because an empty one would be replaced.
  mkdirSync(path.join(dir, 'report.json', 'full'), { recursive: true });
  const url = await makeSqlite(plainCatalogue(20), "UPDATE games SET slug = 'no/slug-' || id");
  const { code, stderr } = await run(url, dir);
  expect([code, statusOf(dir).outcome]).toEqual([3, 'refused']);
  expect(stderr).toContain('The report of this run could not be written');
  expect(stderr).not.toContain('The rows are listed');
  await generate(await makeSqlite(plainCatalogue(20)), dir);
  expect(currentId(dir)).toBeDefined();
});
