/**
 * When all rows are read: if what the earlier run has left cannot be relied on, and once a day, which finds what
 * `updated_at` cannot show.
 */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import type { Database } from '../../../../database/database.ts';
import { EARLIER_RUN } from '../../../../format/layout.ts';
import type { RunOptions } from '../../../../generator/generate.ts';
import { makeRandom } from '../../../catalogue/random.ts';
import { makeChanges } from '../../../generator/reuse/random-changes.ts';
import { makeTimed, run } from '../../../generator/reuse/runs.ts';
import type { Kind } from '../../../support/databases.ts';
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
  const fileIn = (dir: string) => path.join(dir, EARLIER_RUN);

  test('if nothing is known of the earlier run', async () => {
    const why = await reasonAfter((dir) => rmSync(fileIn(dir)));
    expect(why).toBe('nothing is known of the last run');
  });

  test.each([
    ['it is truncated', (file: string) => truncateSync(file, 1_000)],
    [
      'one bit of it is wrong',
      (file: string) => {
        const bytes = readFileSync(file);
        bytes[bytes.length >> 1] ^= 4;
        writeFileSync(file, bytes);
      },
    ],
    [
      'a named pipe is in its place',
      (file: string) => {
        rmSync(file);
        execFileSync('mkfifo', [file]);
      },
    ],
  ])('if %s', async (_, damage) => {
    expect(await reasonAfter((dir) => damage(fileIn(dir)))).toBe('earlier-run is damaged');
  });

  test('if it is of another database', async () => {
    const why = await reasonAfter(async (dir) => {
      const other = await makeTimed('sqlite', 12);
      const otherDir = newSnapshots();
      await run(other, otherDir);
      await other.close();
      cpSync(fileIn(otherDir), fileIn(dir));
    });
    expect(why).toBe('the last run read another database, or a table or view was altered');
  });

  test('if it is outdated, because another program has published since', async () => {
    const why = await reasonAfter(async (dir, database) => {
      const before = readFileSync(fileIn(dir));
      await database.run("UPDATE games SET title = 'Unseen'");
      await run(database, dir, { isFull: true });
      writeFileSync(fileIn(dir), before);
    });
    expect(why).toBe('the last run did not write the current generation');
  });

  test('if a table was altered', async () => {
    const why = await reasonAfter((_, database) =>
      database.run('ALTER TABLE games ADD COLUMN note TEXT'),
    );
    expect(why).toBe('the last run read another database, or a table or view was altered');
  });

  test('if the settings have changed', async () => {
    const settings = { site_url: 'https://x.example', site_language: 'de', files_url: 'https://y' };
    expect(await reasonAfter(() => {}, { settings })).toBe(
      'the last run had another SITE_URL, SITE_LANGUAGE or FILES_URL',
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

test('without updated_at in every table, all rows are read and nothing is left for the next run', async () => {
  const database = await makeTimed('sqlite', 12);
  await database.run('ALTER TABLE covers DROP COLUMN updated_at');
  const dir = newSnapshots();
  await run(database, dir);
  expect((await run(database, dir)).readAllBecause).toBe(
    'the database does not have covers.updated_at',
  );
  expect(existsSync(path.join(dir, EARLIER_RUN))).toBe(false);
  await database.close();
});

test('only the owner may read what a run leaves, even in a shared folder', async () => {
  const database = await makeTimed('sqlite', 12);
  const dir = newSnapshots();
  mkdirSync(dir);
  chmodSync(dir, 0o2750);
  await run(database, dir);
  await database.close();
  expect(statSync(path.join(dir, EARLIER_RUN)).mode & 0o7777).toBe(0o600);
});

test('a run that is refused leaves it as it was, and one that cannot write it publishes', async () => {
  const database = await makeTimed('sqlite', 60);
  const dir = newSnapshots();
  await run(database, dir);
  const covers = await database.rows("SELECT id FROM covers WHERE status = 'approved' ORDER BY id");
  const last = String(covers.at(covers.length >> 1)?.[0]);
  const setStatus = (status: string, operator: string) =>
    database.run(
      `UPDATE covers SET status = ?, updated_at = CURRENT_TIMESTAMP WHERE id ${operator} ?`,
      [status, last],
    );
  await setStatus('rejected', '<=');
  await expect(run(database, dir, { isForced: false })).rejects.toThrow('by more than 20 %');
  await setStatus('approved', '<=');
  await setStatus('rejected', '=');
  expect(await run(database, dir, { isForced: false })).toMatchObject({
    outcome: 'published',
    readAllBecause: null,
  });
  rmSync(path.join(dir, EARLIER_RUN));
  mkdirSync(path.join(dir, EARLIER_RUN, 'in the way'), { recursive: true });
  await setStatus('approved', '=');
  expect(await run(database, dir)).toMatchObject({ outcome: 'published' });
  await database.close();
});
