/**
 * A run that reads only the changed rows publishes the same bytes, and the same report, as one that reads
 * all rows: after random changes, on each kind of database.
 */
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import type { Database } from '../../../database/database.ts';
import { openDatabase } from '../../../database/open.ts';
import { ROW_CACHE } from '../../../format/layout.ts';
import { contentHash } from '../../../format/manifest.ts';
import { generate, type RunOptions } from '../../../generator/generate.ts';
import type { Progress } from '../../../program/progress.ts';
import { generationDir } from '../../../store/generations/generations.ts';
import { readManifest } from '../../../store/generations/manifest-file.ts';
import { loadCatalogue } from '../../catalogue/load.ts';
import { makeRandom } from '../../catalogue/random.ts';
import { seededCatalogue } from '../../catalogue/seeded.ts';
import { KINDS, type Kind, makeDatabase } from '../../support/databases.ts';
import { printFigure, rounds } from '../../support/rounds.ts';
import { newSnapshots } from '../../support/wholeness.ts';
import { addTimes, makeChanges } from './random-changes.ts';

const BATCHES = rounds(5, 1_000);
const quiet: Progress = { advance() {}, step() {}, warn() {}, end() {} };

async function run(
  database: Database,
  snapshotsDir: string,
  changes: Partial<RunOptions> = {},
  progress: Progress = quiet,
) {
  const settings = {
    site_url: 'https://covers.example',
    site_language: 'en',
    files_url: 'https://files.covers.example',
  };
  const options = { isFull: false, isDryRun: false, isForced: true, warnings: [] };
  const result = await generate(
    database,
    { snapshotsDir, settings, ...options, ...changes },
    progress,
  );
  return result;
}

/** What must be the same after runs of both kinds. */
function contentOf(snapshotsDir: string, id: string | undefined) {
  const manifest = readManifest(generationDir(snapshotsDir, String(id)));
  const report = JSON.parse(readFileSync(path.join(snapshotsDir, 'report.json'), 'utf8'));
  const { finished_at: _, outcome: __, ...rows } = report;
  return { hash: contentHash(manifest), files: manifest.files, rows };
}

async function makeTimed(kind: Kind, games = 150) {
  const database = await openDatabase(await makeDatabase(kind));
  await loadCatalogue(database, seededCatalogue({ games, seed: 11 }));
  await addTimes(database);
  return database;
}

describe.each(KINDS)('on %s', (kind) => {
  test(`equals a full run after each of ${BATCHES} batches of random changes`, {
    timeout: 3_600_000,
  }, async () => {
    const database = await makeTimed(kind);
    const [dir, fullDir] = [newSnapshots(), newSnapshots()];
    const { change } = makeChanges(makeRandom(kind === 'mysql' ? 1 : 2));
    expect((await run(database, dir)).readAllBecause).toBe('there is no generation yet');
    const outcomes = { published: 0, unchanged: 0 };
    for (let batch = 1; batch <= BATCHES; batch++) {
      await database.transaction(change);
      const changed = await run(database, dir);
      const full = await run(database, fullDir, { isFull: true });
      expect(changed.readAllBecause, `batch ${batch}`).toBe(null);
      expect(contentOf(dir, changed.id), `batch ${batch}`).toEqual(contentOf(fullDir, full.id));
      if (batch % 3 === 0) {
        // The values of a cached row that is left out in this run are first known after the next one.
        expect((await run(database, dir)).outcome).toBe('unchanged');
        const steps: string[] = [];
        const progress = { ...quiet, step: (text: string) => steps.push(text) };
        expect((await run(database, dir, {}, progress)).outcome).toBe('unchanged');
        expect(steps).not.toContain('writing packs');
        expect(contentOf(dir, changed.id), `batch ${batch}`).toEqual(contentOf(fullDir, full.id));
      }
      outcomes[changed.outcome === 'published' ? 'published' : 'unchanged']++;
    }
    await database.close();
    printFigure(
      `A run of the changes equals a full run (${kind})`,
      `${BATCHES} random batches: ${outcomes.published} published, ${outcomes.unchanged} without a visible change, 0 differences`,
    );
  });
});

test('a change within the same second as the read before is found by the next run', async () => {
  const database = await makeTimed('sqlite', 20);
  const dir = newSnapshots();
  const [[id = null, time = null] = []] = await database.rows(
    'SELECT MIN(id), CURRENT_TIMESTAMP FROM games',
  );
  const describeGame = (text: string) =>
    database.run('UPDATE games SET description = ?, updated_at = ? WHERE id = ?', [text, time, id]);
  await describeGame('First');
  await run(database, dir);
  await describeGame('Second');
  expect(await run(database, dir)).toMatchObject({ outcome: 'published', readAllBecause: null });
  await database.close();
});

test('without updated_at in every table, all rows are read and nothing is cached', async () => {
  const database = await makeTimed('sqlite', 20);
  await database.run('ALTER TABLE covers DROP COLUMN updated_at');
  const dir = newSnapshots();
  await run(database, dir);
  expect((await run(database, dir)).readAllBecause).toBe(
    'the database does not have covers.updated_at',
  );
  expect(existsSync(path.join(dir, ROW_CACHE))).toBe(false);
  await database.close();
});

describe('all rows are read', () => {
  /** Publishes, changes rows, and damages something. @returns why the next run reads all rows */
  async function reasonAfter(
    damage: (dir: string, database: Database) => unknown,
    changes: Partial<RunOptions> = {},
  ) {
    const database = await makeTimed('sqlite', 60);
    const dir = newSnapshots();
    await run(database, dir);
    const { change } = makeChanges(makeRandom(5));
    await change(database);
    await damage(dir, database);
    const { readAllBecause, id } = await run(database, dir, changes);
    const full = await run(database, newSnapshots(), changes);
    expect(id?.slice(-12)).toBe(full.id?.slice(-12));
    await database.close();
    return readAllBecause;
  }
  const inCache = (dir: string, name: string) => path.join(dir, ROW_CACHE, name);

  test('if the cache is deleted', async () => {
    const why = await reasonAfter((dir) => rmSync(path.join(dir, ROW_CACHE), { recursive: true }));
    expect(why).toBe('there is no row cache yet');
  });

  test.each(['head.json', 'covers.bin'])('if %s of the cache is truncated', async (name) => {
    const why = await reasonAfter((dir) => truncateSync(inCache(dir, name), 1_000));
    expect(why).toContain('the row cache is damaged');
  });

  test('if one bit of the cache is wrong', async () => {
    const why = await reasonAfter((dir) => {
      const file = inCache(dir, 'games.bin');
      const bytes = readFileSync(file);
      bytes[bytes.length - 5] ^= 4;
      writeFileSync(file, bytes);
    });
    expect(why).toContain('the row cache is damaged');
  });

  test('if the cache is of another database', async () => {
    const why = await reasonAfter(async (dir) => {
      const other = await makeTimed('sqlite', 60);
      const otherDir = newSnapshots();
      await run(other, otherDir);
      await other.close();
      rmSync(path.join(dir, ROW_CACHE), { recursive: true });
      cpSync(path.join(otherDir, ROW_CACHE), path.join(dir, ROW_CACHE), { recursive: true });
    });
    expect(why).toContain('of another generation, database or version');
  });

  test('if the cache is outdated, because another program has published since', async () => {
    const why = await reasonAfter(async (dir, database) => {
      const before = newSnapshots();
      cpSync(path.join(dir, ROW_CACHE), before, { recursive: true });
      await database.run("UPDATE games SET title = 'Unseen'");
      await run(database, dir, { isFull: true });
      rmSync(path.join(dir, ROW_CACHE), { recursive: true });
      cpSync(before, path.join(dir, ROW_CACHE), { recursive: true });
    });
    expect(why).toContain('of another generation, database or version');
  });

  test('if a table was altered', async () => {
    const why = await reasonAfter((_, database) =>
      database.run('ALTER TABLE games ADD COLUMN note TEXT'),
    );
    expect(why).toContain('of another generation, database or version');
  });

  test('if the settings have changed', async () => {
    const settings = { site_url: 'https://x.example', site_language: 'de', files_url: 'https://y' };
    expect(await reasonAfter(() => {}, { settings })).toContain('other settings');
  });

  test('if a platform has changed', async () => {
    const why = await reasonAfter((_, database) =>
      database.run(
        "UPDATE platforms SET name = 'Renamed' WHERE id = (SELECT MIN(id) FROM platforms)",
      ),
    );
    expect(why).toContain('the platforms have changed');
  });

  test('if a pack of the current generation is damaged', async () => {
    const why = await reasonAfter((dir) => {
      for (const file of globSync('current/{games,covers}/*.json', { cwd: dir })) {
        const bytes = readFileSync(path.join(dir, file));
        bytes[bytes.length >> 1] ^= 1;
        writeFileSync(path.join(dir, file), bytes);
      }
    });
    expect(why).toMatch(/of the current generation was touched$/);
  });

  test('with --full, and after 24 hours', async () => {
    expect(await reasonAfter(() => {}, { isFull: true })).toBe('a full run was requested');
    const why = await reasonAfter(() => {
      vi.setSystemTime(Date.now() + 25 * 3_600_000);
    });
    vi.useRealTimers();
    expect(why).toBe('the last full run was not within 24 hours');
  });
});

test('only the owner may read the cache, even in a shared folder', async () => {
  const database = await makeTimed('sqlite', 20);
  const dir = newSnapshots();
  mkdirSync(dir);
  chmodSync(dir, 0o2750);
  await run(database, dir);
  await database.close();
  const modeOf = (name: string) => statSync(path.join(dir, ROW_CACHE, name)).mode & 0o7777;
  expect(modeOf('.')).toBe(0o700);
  expect(readdirSync(path.join(dir, ROW_CACHE)).map(modeOf)).toEqual(Array(4).fill(0o600));
});
