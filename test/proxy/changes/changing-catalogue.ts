/**
 * A small catalogue in which random changes of every kind are made. Slugs and texts come from small
 * pools, so that paths are used again by other games, and changes are sometimes undone.
 */
import { openDatabase } from '../../../database/open.ts';
import { makeRandom } from '../../../demo/catalogue/random.ts';
import { hashKey } from '../../../format/api-key.ts';
import { seededCatalogue } from '../../catalogue/seeded.ts';
import { makeSqlite } from '../../catalogue/snapshots.ts';
import type { TestKey } from '../../support/product.ts';

const PLATFORMS = 4;
const GAMES = 30;
const GAME_SLUGS = Array.from({ length: 25 }, (_, number) => `game-${number}`);
const PLATFORM_SLUGS = ['alpha', 'beta', 'gamma', 'delta', 'epsilon', 'zeta'];
const TEXTS = ['one', 'two', 'three'];
const STATUSES = ['approved', 'approved', 'pending', 'rejected'];
const MOST_CHANGES = 8;

/** @param key a key that the runs export */
export async function makeChangingCatalogue(seed: number, key?: TestKey) {
  const random = makeRandom(seed);
  const catalogue = seededCatalogue({ games: GAMES, seed, platforms: PLATFORMS, hugeIds: true });
  const url = await makeSqlite(catalogue);
  const database = await openDatabase(url);
  let nextId = 1_000_000;
  if (key !== undefined) {
    await database.run(
      "INSERT INTO api_keys (id, key_hash, state, limit_per_minute, purpose, website_url, requested_at) VALUES (?, ?, 'approved', ?, 'a test', '', '2026-01-01 00:00:00')",
      [key.id, hashKey(key.key), key.limit ?? 1],
    );
  }

  const pick = async (table: string): Promise<string | undefined> => {
    // As text, because ids may exceed 2^53.
    const rows = await database.rows(`SELECT CAST(id AS TEXT) FROM ${table} ORDER BY id`);
    return rows.length === 0 ? undefined : String(random.pick(rows)[0]);
  };
  const run = async (sql: string, ...values: (string | number | undefined)[]) => {
    if (values.includes(undefined)) return;
    await database.run(sql, values as (string | number)[]);
  };
  /** A change that a unique key may refuse: another game has this slug already. */
  const tryRun = (...order: Parameters<typeof run>) => run(...order).catch(() => {});

  const changes: readonly (() => Promise<void>)[] = [
    async function insertGame() {
      const id = String(++nextId);
      const platform = await pick('platforms');
      const columns = '(id, platform_id, slug, title)';
      const slug = random.pick(GAME_SLUGS);
      await tryRun(`INSERT INTO games ${columns} VALUES (?, ?, ?, ?)`, id, platform, slug, slug);
    },
    async function describeGame() {
      const text = random.pick(TEXTS);
      await run('UPDATE games SET description = ? WHERE id = ?', text, await pick('games'));
    },
    async function deleteGame() {
      const id = await pick('games');
      await run('DELETE FROM covers WHERE game_id = ?', id);
      await run('DELETE FROM games WHERE id = ?', id);
    },
    async function renameGame() {
      const slug = random.pick(GAME_SLUGS);
      await tryRun('UPDATE games SET slug = ? WHERE id = ?', slug, await pick('games'));
    },
    async function retitleGame() {
      const title = random.pick(TEXTS);
      await run('UPDATE games SET title = ? WHERE id = ?', title, await pick('games'));
    },
    async function moveGame() {
      const platform = await pick('platforms');
      const game = await pick('games');
      await tryRun('UPDATE games SET platform_id = ? WHERE id = ?', platform, game);
    },
    async function exchangeIds() {
      const [a, b] = [await pick('games'), await pick('games')];
      await run('UPDATE games SET id = 999999 WHERE id = ?', a);
      await tryRun('UPDATE games SET id = ? WHERE id = ?', a, b);
      await tryRun('UPDATE games SET id = ? WHERE id = 999999', a === b ? a : b);
    },
    async function judgeCover() {
      const status = random.pick(STATUSES);
      await run('UPDATE covers SET status = ? WHERE id = ?', status, await pick('covers'));
    },
    async function insertCover() {
      const id = String(++nextId);
      const columns = '(id, game_id, region, status)';
      const region = random.pick(TEXTS);
      const game = await pick('games');
      await run(`INSERT INTO covers ${columns} VALUES (?, ?, ?, 'approved')`, id, game, region);
    },
    async function moveCover() {
      const game = await pick('games');
      await run('UPDATE covers SET game_id = ? WHERE id = ?', game, await pick('covers'));
    },
    async function deleteCover() {
      await run('DELETE FROM covers WHERE id = ?', await pick('covers'));
    },
    async function insertPlatform() {
      const slug = random.pick(PLATFORM_SLUGS);
      await tryRun('INSERT INTO platforms VALUES (?, ?, ?)', String(++nextId), slug, slug);
    },
    async function renamePlatform() {
      const slug = random.pick(PLATFORM_SLUGS);
      await tryRun('UPDATE platforms SET slug = ? WHERE id = ?', slug, await pick('platforms'));
    },
    async function deletePlatform() {
      const rows = await database.rows('SELECT COUNT(*) FROM platforms');
      if (Number(rows[0]?.[0]) <= 2) return;
      const id = await pick('platforms');
      const others = '(SELECT MIN(id) FROM platforms WHERE id <> ?)';
      await tryRun(
        `UPDATE OR IGNORE games SET platform_id = ${others} WHERE platform_id = ?`,
        id,
        id,
      );
      await run('DELETE FROM games WHERE platform_id = ?', id);
      await run('DELETE FROM covers WHERE game_id NOT IN (SELECT id FROM games)');
      await run('DELETE FROM platforms WHERE id = ?', id);
    },
  ];

  return {
    url,
    random,
    /** Makes some changes. Afterwards at least one record differs from what it was. */
    async change() {
      const count = 1 + random.below(MOST_CHANGES);
      for (let number = 0; number < count; number++) await random.pick(changes)();
    },
    close: () => database.close(),
  };
}
