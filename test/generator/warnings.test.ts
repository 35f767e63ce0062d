/**
 * Warnings about probable mistakes: which catalogues and settings cause one, and where it is shown. A
 * warning never refuses a run and never changes the generation.
 */
import { expect, test } from 'vitest';
import type { Database, Row } from '#lib/database/database.ts';
import { openDatabase } from '#lib/database/open.ts';
import { cover, plainCatalogue } from '#test/catalogue/plain.ts';
import { makeSqlite } from '#test/catalogue/snapshots.ts';
import { newSnapshots, reportOf, runGenerator } from '#test/support/wholeness.ts';
import { makeTimed, quiet, run, SETTINGS } from './reuse/runs.ts';

test('a run shows its warnings in its report, on stderr and with --json, and publishes', async () => {
  const inSeconds = (seconds: number) =>
    new Date(Date.now() + seconds * 1000).toISOString().slice(0, 19).replace('T', ' ');
  // The clock of the site may be a minute ahead.
  const covers = [cover(1, inSeconds(3_600)), cover(2, inSeconds(30))];
  const coverFiles = [1, 2].map((id): Row => [id, id, null, null, null, null, null, `${id}.jpg`]);
  const url = await makeSqlite({ ...plainCatalogue(2), covers, coverFiles });
  const dir = newSnapshots();
  const FILES_URL = 'http://127.0.0.1/files';
  const future = 'approved_at is in the future, perhaps because it is not UTC';
  const files = `FILES_URL is ${FILES_URL}, which only this machine can reach`;
  const pages = 'PUBLIC_URL is http://localhost:8080, which only this machine can reach';
  // The next run reads no rows again: the warnings about them are those of this run.
  for (const [expected, variables, settings] of [
    ['published', { PUBLIC_URL: '', FILES_URL }, [files, pages]],
    ['unchanged', { FILES_URL }, [files]],
  ] as const) {
    const { code, stderr, stdout } = await runGenerator(url, dir, ['--json'], variables);
    const { outcome, warnings } = JSON.parse(stdout);
    expect([code, outcome]).toEqual([0, expected]);
    const reasons = reportOf(dir).warnings.map(({ reason }: { reason: string }) => reason);
    expect(reasons).toEqual([future, ...settings]);
    const [{ value = '' } = {}] = reportOf(dir).warnings[0].rows;
    expect(warnings).toEqual([`1 of covers: ${future} (1: "${value}")`, ...settings]);
    for (const sentence of warnings) expect(stderr).toContain(`Warning: ${sentence}.\n`);
  }
});

/** A game of the first platform, with a cover that has a file. */
async function addGame(database: Database, id: number, title: string, type = 'front') {
  const time = '2022-02-02 02:02:02';
  await database.run(
    'INSERT INTO games (id, platform_id, slug, title, updated_at) SELECT ?, MIN(id), ?, ?, ? FROM platforms',
    [id, `g${id}`, title, time],
  );
  await database.run(
    "INSERT INTO covers (id, game_id, type, status, updated_at) VALUES (?, ?, ?, 'approved', ?)",
    [id, id, type, time],
  );
  await database.run(
    'INSERT INTO cover_files (id, cover_id, path, updated_at) VALUES (?, ?, ?, ?)',
    [id, id, `${id}.png`, time],
  );
}

test('warnings name three rows, and stay the same in runs that read only changes, or nothing', async () => {
  const database = await makeTimed('sqlite', 1);
  for (const table of ['cover_files', 'covers', 'games'])
    await database.run(`DELETE FROM ${table}`);
  const titles = 'A &amp; B|Zelda|ZELDA|C &amp; D|zelda|E &lt;|Zeldá|Zeldá|F &gt;|Other  one'.split(
    '|',
  );
  for (const [at, title] of titles.entries()) await addGame(database, at + 1, title);
  await database.run('DELETE FROM cover_files WHERE id IN (2, 4)');
  const dir = newSnapshots();
  const texts: string[] = [];
  const warn = (text: string) => texts.push(text);
  const expected = [
    'Warning: 4 of games: title has HTML entities: served with them; operations/database.md has a view without them (1: "A &amp; B", 4: "C &amp; D", 6: "E &lt;", …).',
    'Warning: 1 of games: title has white space at an end, or doubled: served with it (10: "Other  one").',
    'Warning: 2 of covers: the cover is approved and has no files: served without, and never as the best of its game (2, 4).',
    'Warning: 2 of games: the title of another game of the platform differs only in case (3: "Zelda / ZELDA", 5: "ZELDA / zelda").',
  ];
  const runOnce = async () => {
    texts.length = 0;
    const { outcome, readAllBecause } = await run(database, dir, {}, { ...quiet, warn });
    return [outcome, readAllBecause === null, texts.filter((text) => /^Warning/.test(text))];
  };
  expect(await runOnce()).toEqual(['published', false, expected]);
  expect(await runOnce()).toEqual(['unchanged', true, expected]);
  await addGame(database, 1_000_000, 'Plain');
  expect(await runOnce()).toEqual(['published', true, expected]);
  await database.run("UPDATE games SET updated_at = '2023-03-03 03:03:03'");
  expect(await runOnce()).toEqual(['unchanged', true, expected]);
  // In title order, it stands between the two others.
  await addGame(database, 1_000_001, 'Plàin');
  await addGame(database, 1_000_002, 'PLAIN');
  const [, , warnings] = await runOnce();
  expect((warnings as string[]).at(-1)).toContain(
    '3 of games: the title of another game of the platform differs only in case',
  );
});

test('a run in which no cover is a front says which types there are, until FRONT_TYPES names one', async () => {
  const database = await makeTimed('sqlite', 1);
  for (const table of ['cover_files', 'covers', 'games'])
    await database.run(`DELETE FROM ${table}`);
  for (const [at, type] of ['verso', 'Frente', 'verso'].entries())
    await addGame(database, at + 1, `Game ${at}`, type);
  const dir = newSnapshots();
  const warningsWith = async (settings: object) =>
    (await run(database, dir, settings)).report.warnings.map(({ reason }) => reason);
  const missing =
    'no approved cover has a type of FRONT_TYPES, which is front; set it to one of the types that there are (verso: 2, Frente: 1)';
  expect(await warningsWith({})).toEqual([missing]);
  expect(await warningsWith({})).toEqual([missing]);
  const own = { settings: { ...SETTINGS, front_types: ['sleeve', 'frente'] } };
  expect(await warningsWith(own)).toEqual([]);
});

test('a run that the memory may be too small for says so before it starts', async () => {
  const url = await makeSqlite(plainCatalogue(2));
  const database = await openDatabase(url);
  const texts: string[] = [];
  const progress = {
    ...quiet,
    warn: (text: string) => texts.push(text),
    step: (text: string) => texts.push(text),
  };
  const availableMemory = 100e6;
  await run(database, newSnapshots(), { availableMemory }, progress);
  // A part of the catalogue needs less.
  const part = { games: 'id = 1', covers: 'game_id = 1' };
  await run(database, newSnapshots(), { availableMemory, part }, progress);
  await database.close();
  const warning =
    'Warning: a run over 2 games takes about 150 MB of memory, and only 100 MB are available. The system may end it.';
  expect(texts[0]).toBe(warning);
  expect(texts.slice(1)).not.toContain(warning);
});
