/**
 * Warnings about probable mistakes: which catalogues and settings cause one, and where it is shown. A
 * warning never refuses a run and never changes the generation.
 */
import { expect, test } from 'vitest';
import { currentId } from '../../generations/generations.ts';
import { findFutureApprovals } from '../../generator/report/warnings.ts';
import { cover, plainCatalogue } from '../catalogue/plain.ts';
import { makeSampleSqlite, makeSqlite } from '../catalogue/snapshots.ts';
import { generate } from '../support/product.ts';
import { newSnapshots, reportOf, runGenerator } from '../support/wholeness.ts';

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

test('a run shows its warnings in its report, on stderr and with --json, and publishes', async () => {
  const inAnHour = new Date(Date.now() + 3_600_000).toISOString().slice(0, 19).replace('T', ' ');
  const url = await makeSqlite({ ...plainCatalogue(2), covers: [cover(1, inAnHour)] });
  const dir = newSnapshots();
  const look = async (variables: Record<string, string>) => {
    const { code, stderr, stdout } = await runGenerator(url, dir, ['--json'], variables);
    const reasons = reportOf(dir).warnings.map(({ reason }: { reason: string }) => reason);
    return { code, stderr, printed: JSON.parse(stdout), reasons };
  };
  const FILES_URL = 'http://127.0.0.1/files';
  const { code, stderr, printed, reasons } = await look({ PUBLIC_URL: '', FILES_URL });
  expect([code, printed.outcome]).toEqual([0, 'published']);
  const future = 'approved_at is in the future: is it UTC?';
  const files = 'FILES_URL is http://127.0.0.1/files, which only this machine can reach';
  const pages = 'PUBLIC_URL is http://localhost:8080, which only this machine can reach';
  expect(reasons).toEqual([future, files, pages]);
  const sentences = [`1 of covers: ${future}`, files, pages];
  expect(printed.warnings).toEqual(sentences);
  for (const sentence of sentences) expect(stderr).toContain(`Warning: ${sentence}.\n`);
  // The next run reads no rows again: the warnings about them are those of this run.
  const before = currentId(dir);
  const again = await look({ FILES_URL });
  expect([again.printed.outcome, currentId(dir)]).toEqual(['unchanged', before]);
  expect(again.reasons).toEqual([future, files]);
});

test('the sample catalogue has no warnings', async () => {
  const { stderr, stdout } = await generate(await makeSampleSqlite(), newSnapshots(), ['--json']);
  expect(JSON.parse(stdout).warnings).toEqual([]);
  expect(stderr).not.toContain('Warning');
});
