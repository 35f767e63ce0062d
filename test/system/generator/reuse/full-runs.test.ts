/**
 * When all rows are read: if the row cache cannot be relied on, and once a day, which finds what
 * `updated_at` cannot show.
 */
import { execFileSync } from 'node:child_process';
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
import type { Database } from '../../../../database/database.ts';
import { ROW_CACHE } from '../../../../format/layout.ts';
import type { RunOptions } from '../../../../generator/run/run.ts';
import { makeRandom } from '../../../catalogue/random.ts';
import { makeChanges } from '../../../generator/reuse/random-changes.ts';
import { makeTimed, run } from '../../../generator/reuse/runs.ts';
import { KINDS, type Kind } from '../../../support/databases.ts';
import { newSnapshots } from '../../../support/wholeness.ts';

describe('all rows are read', () => {
  /** Publishes, changes rows, and damages something. @returns why the next run reads all rows */
  async function reasonAfter(
    damage: (dir: string, database: Database) => unknown,
    changes: Partial<RunOptions> = {},
    kind: Kind = 'sqlite',
  ) {
    const database = await makeTimed(kind, 12);
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

  test.each(KINDS)('if one bit of the cache is wrong, on %s', async (kind) => {
    const flipBit = async (dir: string, database: Database) => {
      for (const table of ['games', 'covers', 'cover_files']) {
        await database.run(`UPDATE ${table} SET updated_at = CURRENT_TIMESTAMP`);
      }
      const file = inCache(dir, 'games.bin');
      const bytes = readFileSync(file);
      bytes[bytes.length - 5] ^= 4;
      writeFileSync(file, bytes);
    };
    expect(await reasonAfter(flipBit, {}, kind)).toContain('the row cache is damaged');
  });

  test('if a named pipe is in the place of the cache', async () => {
    const why = await reasonAfter((dir) => {
      rmSync(inCache(dir, 'head.json'));
      execFileSync('mkfifo', [inCache(dir, 'head.json')]);
    });
    expect(why).toContain('the row cache cannot be read');
  });

  test('if the cache is of another database', async () => {
    const why = await reasonAfter(async (dir) => {
      const other = await makeTimed('sqlite', 12);
      const otherDir = newSnapshots();
      await run(other, otherDir);
      await other.close();
      rmSync(path.join(dir, ROW_CACHE), { recursive: true });
      cpSync(path.join(otherDir, ROW_CACHE), path.join(dir, ROW_CACHE), { recursive: true });
    });
    expect(why).toBe('the row cache is of another database, or a table or view was altered');
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
    expect(why).toBe('the row cache is of a generation that is not current');
  });

  test('if a table was altered', async () => {
    const why = await reasonAfter((_, database) =>
      database.run('ALTER TABLE games ADD COLUMN note TEXT'),
    );
    expect(why).toBe('the row cache is of another database, or a table or view was altered');
  });

  test('if the settings have changed', async () => {
    const settings = { site_url: 'https://x.example', site_language: 'de', files_url: 'https://y' };
    expect(await reasonAfter(() => {}, { settings })).toBe(
      'the row cache was written with another SITE_URL, SITE_LANGUAGE or FILES_URL',
    );
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

test.each([
  ['by a program that does not set it', undefined],
  ['after the clock was set back to the same second', '2021-01-01 00:00:05'],
])(
  'a change that does not change updated_at, %s, is found by the daily full run',
  async (_, time) => {
    const database = await makeTimed('sqlite', 12);
    const dir = newSnapshots();
    await run(database, dir);
    const [[id = null] = []] = await database.rows('SELECT MIN(id) FROM games');
    const describeGame = (text: string) =>
      database.run(
        'UPDATE games SET description = ?, updated_at = COALESCE(?, updated_at) WHERE id = ?',
        [text, time ?? null, id],
      );
    if (time !== undefined) {
      await describeGame('First');
      expect((await run(database, dir)).outcome).toBe('published');
    }
    await describeGame('Hidden');
    expect((await run(database, dir)).outcome).toBe('unchanged');
    vi.setSystemTime(Date.now() + 25 * 3_600_000);
    const daily = await run(database, dir);
    vi.useRealTimers();
    expect(daily).toMatchObject({
      outcome: 'published',
      readAllBecause: 'the last full run was not within 24 hours',
    });
    await database.close();
  },
);

test('without updated_at in every table, all rows are read and nothing is cached', async () => {
  const database = await makeTimed('sqlite', 12);
  await database.run('ALTER TABLE covers DROP COLUMN updated_at');
  const dir = newSnapshots();
  await run(database, dir);
  expect((await run(database, dir)).readAllBecause).toBe(
    'the database does not have covers.updated_at',
  );
  expect(existsSync(path.join(dir, ROW_CACHE))).toBe(false);
  await database.close();
});

test('only the owner may read the cache, even in a shared folder', async () => {
  const database = await makeTimed('sqlite', 12);
  const dir = newSnapshots();
  mkdirSync(dir);
  chmodSync(dir, 0o2750);
  await run(database, dir);
  await database.close();
  const modeOf = (name: string) => statSync(path.join(dir, ROW_CACHE, name)).mode & 0o7777;
  expect(modeOf('.')).toBe(0o700);
  expect(readdirSync(path.join(dir, ROW_CACHE)).map(modeOf)).toEqual(Array(4).fill(0o600));
});
