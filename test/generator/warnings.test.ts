/**
 * Warnings about probable mistakes: which catalogues and settings cause one, and where it is shown. A
 * warning never refuses a run and never changes the generation.
 */
import { expect, test } from 'vitest';
import { openDatabase } from '#lib/database/open.ts';
import { cover, plainCatalogue } from '#test/catalogue/plain.ts';
import { makeSqlite } from '#test/catalogue/snapshots.ts';
import { newSnapshots, reportOf, runGenerator } from '#test/support/wholeness.ts';
import { quiet, run } from './reuse/runs.ts';

test('a run shows its warnings in its report, on stderr and with --json, and publishes', async () => {
  const inSeconds = (seconds: number) =>
    new Date(Date.now() + seconds * 1000).toISOString().slice(0, 19).replace('T', ' ');
  // The clock of the site may be a minute ahead.
  const covers = [cover(1, inSeconds(3_600)), cover(2, inSeconds(30))];
  const url = await makeSqlite({ ...plainCatalogue(2), covers });
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
    expect(warnings).toEqual([`1 of covers: ${future}`, ...settings]);
    for (const sentence of warnings) expect(stderr).toContain(`Warning: ${sentence}.\n`);
  }
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
