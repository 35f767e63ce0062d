/**
 * What the generator writes: the same bytes from both databases. And how a run ends that publishes, finds
 * nothing new, or fails. `test/system/lib/format/fixtures.test.ts` has the exact bytes of every file.
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
      warnings: [expect.stringMatching(/^3 of covers: .* has no files: .* \(1, 2, 3\)$/)],
      report: expect.objectContaining({ covers_gone_with_their_game: 0, rows: [] }),
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
    expect(more.stdout).toMatch(
      /^2 platforms changed: .*; 2 games added; .*^\+ \/games\/.*5 games \(\+2\)/ms,
    );
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
