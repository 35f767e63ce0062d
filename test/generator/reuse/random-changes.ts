/**
 * Random changes to a small catalogue whose tables have `updated_at`. Each changes what a site would
 * change, or breaks the contract. A row that is changed gets a time that it has not had before, or the
 * current one. If times lie, clocks are an hour off, rows of one transaction have the same time, and a status changes
 * without one.
 */

import type { Random } from '#demo/catalogue/random.ts';
import type { Database, Value, Writer } from '#lib/database/database.ts';
import { OPTIONAL_TABLES, TIMED_TABLES } from '#lib/database/schema.ts';
import { createTables } from '#lib/database/tables.ts';

const TITLES = [
  ...'Zelda|zelda|ZELDA|Zeldá| Zelda|Tom &amp; Jerry|Pokémon Pokémon: the the|Final Fantasy 7|Final Fantasy 10|Ōkami|!|A'.split(
    '|',
  ),
  ...['ゼルダの伝説', 'Δ Delta', Array.from({ length: 300 }, (_, i) => `word${i % 280}`).join(' ')],
];

/** Adds the column, with times that lie long ago, and empty tables of ids. */
export async function addTimes(database: Database): Promise<void> {
  const { game_ids, platform_ids } = OPTIONAL_TABLES;
  await createTables(database, { game_ids, platform_ids });
  for (const table of TIMED_TABLES) {
    await database.run(`ALTER TABLE ${table} ADD COLUMN updated_at DATETIME NULL`);
    await database.run(`UPDATE ${table} SET updated_at = '2020-01-01 00:00:00'`);
  }
}

/** The indexes by which polls and runs find recent changes. */
export async function addIndexes({ run }: Database): Promise<void> {
  for (const table of TIMED_TABLES)
    await run(`CREATE INDEX ${table}_updated_at ON ${table} (updated_at)`);
}

/** Lets two games of a platform have the same slug, a game the same title twice, and titles be long, as in a view. */
export async function dropUniqueIndexes(database: Database): Promise<void> {
  const indexes = { games: 'platform_id, slug', game_titles: 'game_id, title' };
  for (const [table, columns] of Object.entries(indexes)) {
    if (database.kind === 'mysql') {
      await database.run(`ALTER TABLE ${table} DROP INDEX ${columns.split(',', 1)[0]}`);
      await database.run(`ALTER TABLE ${table} MODIFY title VARCHAR(4000) NOT NULL`);
      continue;
    }
    const [[sql = null] = []] = await database.rows(
      'SELECT sql FROM sqlite_schema WHERE name = ? AND type = ?',
      [table, 'table'],
    );
    await database.run(`ALTER TABLE ${table} RENAME TO old_${table}`);
    await database.run(String(sql).replace(`, UNIQUE (${columns})`, ''));
    await database.run(`INSERT INTO ${table} SELECT * FROM old_${table}`);
    await database.run(`DROP TABLE old_${table}`);
  }
}

const HOUR = 3_600_000;

export function makeChanges(random: Random, doTimesLie = false) {
  let next = 0;
  /** The time of all rows of a transaction; undefined if each has its own. */
  let common: string | undefined;
  const ownTime = (): string => {
    // A time like that of a transaction that commits late: other rows have later ones.
    const late = Date.UTC(2021, 0, 1) + ++next * 1000;
    const now = Date.now();
    const off = doTimesLie && random.happens(0.5);
    const lie = random.happens(0.5) ? now + HOUR : now - HOUR - next * 1000;
    const time = off ? lie : random.happens(0.6) ? late : now;
    return new Date(time).toISOString().slice(0, 19).replace('T', ' ');
  };
  const time = () => common ?? ownTime();
  const id = () => 5_000_000 + ++next;
  const title = () => `${random.pick(TITLES)}${random.happens(0.5) ? ` ${random.below(50)}` : ''}`;

  const anyOf = async ({ rows }: Writer, table: string): Promise<Value> => {
    const [[count = 0] = []] = await rows(`SELECT COUNT(*) FROM ${table}`);
    const offset = random.below(Math.max(1, Number(count)));
    const [[found = null] = []] = await rows(
      `SELECT id FROM ${table} ORDER BY id LIMIT 1 OFFSET ${offset}`,
    );
    return found;
  };
  const set = async (writer: Writer, table: string, column: string, value: Value) => {
    const sql = `UPDATE ${table} SET ${column} = ?, updated_at = ? WHERE id = ?`;
    await writer.run(sql, [value, time(), await anyOf(writer, table)]);
  };
  const remove = async (writer: Writer, table: string) =>
    writer.run(`DELETE FROM ${table} WHERE id = ?`, [await anyOf(writer, table)]);
  const insert = (writer: Writer, table: string, row: Readonly<Record<string, Value>>) => {
    const marks = Object.keys(row).map(() => '?');
    const sql = `INSERT INTO ${table} (${Object.keys(row)}) VALUES (${marks})`;
    return writer.run(sql, Object.values(row));
  };
  const addCover = async (writer: Writer, game: Value, cover: Value = id()) => {
    await insert(writer, 'covers', {
      id: cover,
      game_id: game,
      status: random.pick(['approved', 'approved', 'approved', 'pending', 'unknown']),
      approved_at: random.pick(['2026-01-01 00:00:00', '2026-05-05 05:05:05', null]),
      region: random.pick(['USA', 'Japan', null]),
      type: 'front',
      updated_at: time(),
    });
    for (let files = random.below(3); files > 0; files--) await addFile(writer, cover);
  };
  const addFile = (writer: Writer, cover: Value) => {
    const path = random.happens(0.9) ? `files/${next}.png` : '';
    const row = { id: id(), cover_id: cover, variant: 'full', path, updated_at: time() };
    return insert(writer, 'cover_files', row);
  };
  const addGame = async (writer: Writer, game: Value = id()) => {
    await insert(writer, 'games', {
      id: game,
      platform_id: await anyOf(writer, 'platforms'),
      slug: random.happens(0.95) ? `game-${next}` : 'a slug unfit for a path',
      title: title(),
      release_year: 1990 + random.below(9),
      genres: 'RPG',
      updated_at: time(),
    });
    if (random.happens(0.5)) await addCover(writer, game);
  };
  /** Alternative titles, of games that exist, are left out, or are gone. */
  const addTitle = async (writer: Writer) => {
    const game = random.happens(0.9) ? await anyOf(writer, 'games') : id();
    const text = random.pick([title(), title(), '', 'bad \ufffd', 'ゼルダ']);
    await insert(writer, 'game_titles', { game_id: game, title: text });
  };
  /** Ids of games and platforms, some of which break the contract; one may be there already. */
  const addExternalId = async (writer: Writer) => {
    const source = random.pick(['serial', 'igdb', '', 'bad source']);
    const value = random.pick(['SLUS-20851', 'slus_20852', '7', 'a/b', '']);
    const table = random.pick(['game', 'platform']);
    const owner = random.happens(0.9) ? await anyOf(writer, `${table}s`) : id();
    const sql = `DELETE FROM ${table}_ids WHERE ${table}_id = ? AND source = ? AND value = ?`;
    await writer.run(sql, [owner, source, value]);
    await insert(writer, `${table}_ids`, { [`${table}_id`]: owner, source, value });
  };
  const changes: ((writer: Writer) => Promise<unknown>)[] = [
    (writer) => addGame(writer),
    (writer) => set(writer, 'games', 'title', title()),
    (writer) => set(writer, 'games', 'title', random.pick(['', 'bad \ufffd bytes', title()])),
    (writer) => set(writer, 'games', 'description', `About ${next}`),
    (writer) => set(writer, 'games', 'genres', random.pick(['RPG', 'Action, RPG', null])),
    (writer) => set(writer, 'games', 'release_year', random.pick([1990, 2001, null])),
    (writer) => set(writer, 'games', 'slug', random.pick([`renamed-${next}`, 'not / a slug'])),
    (writer) => set(writer, 'games', 'platform_id', 999),
    async (writer) => set(writer, 'games', 'platform_id', await anyOf(writer, 'platforms')),
    async (writer) => {
      // Two games of different platforms may have the same slug, and then one of them moves.
      const sql = 'SELECT slug FROM games WHERE id = ?';
      const [[slug = null] = []] = await writer.rows(sql, [await anyOf(writer, 'games')]);
      await set(writer, 'games', 'slug', slug);
    },
    async (writer) => {
      // A game takes the path of another one, whose id may be lower or higher.
      const path = await writer.rows('SELECT platform_id, slug FROM games WHERE id = ?', [
        await anyOf(writer, 'games'),
      ]);
      await writer.run('UPDATE games SET platform_id = ?, slug = ?, updated_at = ? WHERE id = ?', [
        ...path.flat(),
        time(),
        await anyOf(writer, 'games'),
      ]);
    },
    async (writer) => {
      const game = await anyOf(writer, 'games');
      await writer.run('DELETE FROM games WHERE id = ?', [game]);
      await addGame(writer, game);
    },
    (writer) => remove(writer, 'games'),
    async (writer) => addCover(writer, await anyOf(writer, 'games')),
    (writer) => set(writer, 'covers', 'status', 'approved'),
    (writer) => set(writer, 'covers', 'status', 'rejected'),
    (writer) => set(writer, 'covers', 'status', random.pick(['pending', 'ok'])),
    (writer) => set(writer, 'covers', 'region', random.pick(['USA', 'Europe', null, 'bad \ufffd'])),
    (writer) => set(writer, 'covers', 'type', random.pick(['back', 'Front', null])),
    (writer) => set(writer, 'covers', 'approved_at', '2026-06-06 06:06:06'),
    async (writer) => set(writer, 'covers', 'game_id', await anyOf(writer, 'games')),
    (writer) => remove(writer, 'covers'),
    async (writer) => addFile(writer, await anyOf(writer, 'covers')),
    (writer) => set(writer, 'cover_files', 'path', random.pick([`moved/${next}.png`, '../up', ''])),
    (writer) => set(writer, 'cover_files', 'width', next),
    async (writer) => set(writer, 'cover_files', 'cover_id', await anyOf(writer, 'covers')),
    (writer) => remove(writer, 'cover_files'),
    addTitle,
    addTitle,
    addExternalId,
    addExternalId,
    (writer) => writer.run("DELETE FROM game_ids WHERE source = 'igdb'"),
    async (writer) => {
      const [[game = null] = []] = await writer.rows('SELECT MIN(game_id) FROM game_titles');
      await writer.run('DELETE FROM game_titles WHERE game_id = ?', [game]);
    },
    // Beyond 2^53.
    async (writer) => addGame(writer, `90071992547${40993 + random.below(50_000)}`),
    async (writer) =>
      addCover(writer, await anyOf(writer, 'games'), `184467440737${id()}`.slice(0, 19)),
  ];

  if (doTimesLie) {
    const setStatus = async (writer: Writer) =>
      writer.run('UPDATE covers SET status = ? WHERE id = ?', [
        random.pick(['approved', 'rejected']),
        await anyOf(writer, 'covers'),
      ]);
    changes.push(setStatus, setStatus, (writer) => remove(writer, 'covers'));
  }

  return {
    /** @returns a function that changes the description of one game; its time stays the same */
    async describeAgain(writer: Writer) {
      const [game, now] = [await anyOf(writer, 'games'), new Date().toISOString()];
      const sql = 'UPDATE games SET description = ?, updated_at = ? WHERE id = ?';
      return (version: number) =>
        writer.run(sql, [`Version ${version}`, now.slice(0, 19).replace('T', ' '), game]);
    },
    /** Makes one to eight changes. */
    async change(writer: Writer): Promise<void> {
      common = doTimesLie && random.happens(0.3) ? ownTime() : undefined;
      for (let left = 1 + random.below(8); left > 0; left--) {
        await random
          .pick(changes)(writer)
          .catch((error: Error) => {
            // Two games of a platform cannot have the same slug.
            if (!/Duplicate entry|UNIQUE constraint/.test(error.message)) throw error;
          });
      }
    },
  };
}
