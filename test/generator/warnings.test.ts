/**
 * Warnings about probable mistakes: which catalogues and settings cause one, and where it is shown. A
 * warning never refuses a run and never changes the generation.
 */
import { expect, test } from 'vitest';
import { findFutureApprovals, findGenreWarnings } from '../../generator/report/warnings.ts';
import { makePostings } from '../../generator/write/indexes.ts';
import { findLocalAddresses } from '../../program/environment/local-addresses.ts';
import { getOrAdd } from '../../program/get-or-add.ts';
import { cover, plainCatalogue } from '../catalogue/plain.ts';
import { makeSqlite } from '../catalogue/snapshots.ts';
import { newSnapshots, reportOf, runGenerator } from '../support/wholeness.ts';

/** The warnings about games with these genres, whose ids are their ranks. */
function warningsOf(genres: readonly (string | null)[]) {
  const ranks = new Map<string, number[]>();
  genres.forEach((text, rank) => {
    if (text !== null) getOrAdd(ranks, text.toLowerCase(), () => []).push(rank);
  });
  const idOf = (rank: number) => [0, rank] as const;
  return findGenreWarnings(makePostings(ranks), idOf, (rank) => genres[rank] ?? null);
}

const times = (count: number, text: string | null) => Array<string | null>(count).fill(text);

test.each([
  ['";"', 1, [...times(99, 'RPG'), 'RPG; Action']],
  ['"|"', 5, times(5, 'RPG|Action')],
  ['"/"', 5, [...times(40, 'RPG'), ...times(5, 'RPG/Action')]],
  ['"," without a space', 1, [...times(50, 'RPG, Action'), 'RPG,Action']],
])('genres joined by %s cause a warning', (name, count, genres) => {
  const reason = `genres seem to be joined by ${name} instead of ", "`;
  const found = warningsOf(genres);
  expect(found).toMatchObject([{ table: 'games', count, reason }]);
  expect(found[0]?.rows).toHaveLength(count);
  expect(found[0]?.rows.at(-1)).toEqual({ id: genres.length - 1, value: genres.at(-1) });
});

test.each([
  ['joined by ", "', times(50, 'RPG, Action')],
  ['of one word', times(50, 'RPG')],
  ['that are unknown', times(50, null)],
  ['of which one among many has a ";"', [...times(200, 'RPG'), 'RPG; Action']],
  ['with a "/" inside names', [...times(20, 'RPG, Puzzle'), ...times(15, 'Action/Adventure')]],
  ['of which few have a "/"', [...times(95, 'RPG'), ...times(5, 'Action/Adventure')]],
  ['that end with a comma', times(50, 'RPG,')],
])('genres %s cause no warning', (_, genres) => {
  expect(warningsOf(genres)).toEqual([]);
});

test('an approval is in the future if it is more than a minute ahead', () => {
  const now = Date.UTC(2026, 0, 2, 3, 4, 5) / 1000;
  const covers = [-86_400, 0, 60, 61, 3600].map((ahead, id) => [now + ahead, String(id)] as const);
  const rows = [
    { id: 3, value: '2026-01-02T03:05:06Z' },
    { id: 4, value: '2026-01-02T04:04:05Z' },
  ];
  expect(findFutureApprovals(covers, now)).toMatchObject([{ table: 'covers', count: 2, rows }]);
  expect(findFutureApprovals(covers, now + 3600)).toEqual([]);
});

test.each([
  [true, 'http://localhost:8080 http://LOCALHOST https://app.localhost/x http://127.0.0.1'],
  [true, 'http://127.1:81 http://[::1]:8080 http://0.0.0.0 http://[::ffff:127.0.0.1]'],
  [true, 'http://localhost. http://localhost.localdomain'],
  [false, 'https://covers.example http://10.0.0.1 http://127.0.0.1.nip.io http://covers'],
  [false, 'https://[2001:db8::1] https://localhost.example https://mylocalhost'],
])('whether a setting is an address of the machine itself (%s): %s', (isLocal, addresses) => {
  for (const address of addresses.split(' ')) {
    const found = findLocalAddresses({ SITE_URL: address }, () => true);
    expect(found.length, address).toBe(isLocal ? 1 : 0);
  }
});

test('a run shows its warnings in its report, on stderr and with --json, and publishes', async () => {
  const inAnHour = new Date(Date.now() + 3_600_000).toISOString().slice(0, 19).replace('T', ' ');
  const url = await makeSqlite(
    { ...plainCatalogue(2), covers: [cover(1, inAnHour)] },
    "UPDATE games SET genres = 'RPG;Action'",
  );
  const dir = newSnapshots();
  const FILES_URL = 'http://127.0.0.1/files';
  const genres = 'genres seem to be joined by ";" instead of ", "';
  const future = 'approved_at is in the future: is it UTC?';
  const files = `FILES_URL is ${FILES_URL}, which only this machine can reach`;
  const pages =
    'PUBLIC_URL is not set and therefore http://localhost:8080, which only this machine can reach';
  // The next run reads no rows again: the warnings about them are those of this run.
  for (const [expected, variables, settings] of [
    ['published', { PUBLIC_URL: '', FILES_URL }, [files, pages]],
    ['unchanged', { FILES_URL }, [files]],
  ] as const) {
    const { code, stderr, stdout } = await runGenerator(url, dir, ['--json'], variables);
    const { outcome, warnings } = JSON.parse(stdout);
    expect([code, outcome]).toEqual([0, expected]);
    const reasons = reportOf(dir).warnings.map(({ reason }: { reason: string }) => reason);
    expect(reasons).toEqual([genres, future, ...settings]);
    expect(warnings).toEqual([`2 of games: ${genres}`, `1 of covers: ${future}`, ...settings]);
    for (const sentence of warnings) expect(stderr).toContain(`Warning: ${sentence}.\n`);
  }
});
