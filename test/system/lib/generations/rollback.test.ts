/**
 * A rollback publishes the content of an earlier generation under the next sequence number, so that all
 * who follow the folder follow it. Covers that were taken down since stay gone unless the operator agrees.
 */

import { readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { sampleCatalogue } from '#demo/catalogue/sample.ts';
import { HISTORY_FILES, MANIFEST, MINISEARCH_OPTIONS_FILE } from '#lib/format/layout.ts';
import {
  currentId,
  generationDir,
  idsOnDisk,
  pointCurrentTo,
  readManifest,
} from '#lib/generations/generations.ts';
import { removeHold } from '#lib/generations/hold.ts';
import { generate, runSnapshots } from '#test/support/product.ts';
import { filesOf, inodesOf, pullFromApi, startApi } from '#test/support/replicas.ts';
import {
  expectCurrentVerifies,
  fitManifest,
  makePublished,
  newSnapshots,
} from '#test/support/wholeness.ts';

const REFUSED = 3;

const currentOf = (dir: string) => currentId(dir) as string;
const sequenceIn = (dir: string, id: string) => readManifest(generationDir(dir, id)).sequence;
const rollback = (dir: string, ...args: string[]) => runSnapshots(dir, 'rollback', ...args);

describe('a rollback', async () => {
  const origin = await startApi(sampleCatalogue());
  const [recent] = (await origin.proxy.get('/covers/recent', origin.key)).json.data;
  const cover: number = recent.id;
  const game = `/games/${recent.game.platform.slug}/${recent.game.slug}`;

  test('publishes the content again, with the next sequence; replicas and /changes follow', async () => {
    const dir = origin.snapshotsDir;
    const older = currentOf(dir);
    const newer = await origin.publish("UPDATE games SET description = 'Wrong'");
    const replica = newSnapshots();
    expect(await pullFromApi(origin, replica)).toMatchObject({ code: 0 });

    const { games } = readManifest(generationDir(dir, older)).counts;
    const refused = await rollback(dir, older);
    expect([refused.code, currentOf(dir)]).toEqual([REFUSED, newer]);
    expect(refused.stderr).toMatch(
      new RegExp(
        `^With ${older}, ${games} games would change to earlier content \\((?:/games/\\S+, ){4}/games/\\S+ and ${games - 5} more\\)\\. `,
      ),
    );
    const { code, stdout } = await rollback(dir, older, '--with-taken-down');
    const id = await origin.settle();
    expect([code, stdout]).toEqual([0, `${id} is current, with the content of ${older}.\n`]);
    expect(sequenceIn(dir, id)).toBe(sequenceIn(dir, newer) + 1);
    expect(idsOnDisk(dir)).toEqual([older, newer, id]);
    const before = inodesOf(dir, older);
    for (const [name, inode] of inodesOf(dir, id)) {
      const isNew = [MANIFEST, ...HISTORY_FILES].includes(name);
      expect(before.get(name) === inode, name).toBe(!isNew);
    }
    await expectCurrentVerifies(dir);
    expect(readdirSync(path.join(dir, 'generations')).toSorted()).toEqual(idsOnDisk(dir));

    expect(await pullFromApi(origin, replica)).toMatchObject({ code: 0 });
    expect(currentOf(replica)).toBe(id);
    expect(filesOf(replica, id)).toEqual(filesOf(dir, id));

    const changesSince = async (since: string) =>
      (await origin.proxy.get(`/changes?since=${since}`, origin.key)).json;
    // Changed, and changed back.
    expect(await changesSince(older)).toMatchObject({ from: older, to: id, total: games });
    expect((await changesSince(newer)).total).toBe(games);
    // The replica has never had this one.
    const target = `/changes?since=${older}`;
    const { text } = await origin.proxy.get(target, origin.key);
    expect((await runSnapshots(replica, 'show', target)).stdout).toBe(text);

    removeHold(dir);
    const next = await origin.publish("UPDATE games SET description = 'Right'");
    expect(sequenceIn(dir, next)).toBe(sequenceIn(dir, id) + 1);
    expect((await changesSince(older)).total).toBe(games);
  });

  test('does not bring back an image that was replaced', async () => {
    const dir = origin.snapshotsDir;
    const older = currentOf(dir);
    const newer = await origin.publish(
      `UPDATE cover_files SET path = 'replaced.jpg' WHERE cover_id = ${cover}`,
    );
    const { code, stderr } = await rollback(dir, older);
    expect([code, currentOf(dir)]).toEqual([REFUSED, newer]);
    expect(stderr).toContain(`1 cover would change to earlier content (/covers/${cover}).`);
  });

  test.each([
    [
      'a platform without games that was removed',
      "INSERT INTO platforms (id, slug, name) VALUES (9001, 'empty', 'Empty')",
      'DELETE FROM platforms WHERE id = 9001',
      '1 platform would come back (/platforms/empty).',
    ],
    [
      'the name of a platform without games that was replaced',
      "INSERT INTO platforms (id, slug, name) VALUES (9001, 'empty', 'Wrong')",
      "UPDATE platforms SET name = 'Right' WHERE id = 9001",
      '1 platform would change to earlier content (/platforms/empty).',
    ],
    [
      'an alternative title that was removed',
      "INSERT INTO game_titles (game_id, title) SELECT MIN(id), 'Leaked' FROM games",
      "DELETE FROM game_titles WHERE title = 'Leaked'",
      '1 game would change to earlier content (',
    ],
  ])('does not bring back %s', async (_, added, removed, reason) => {
    const dir = origin.snapshotsDir;
    const older = await origin.publish(added);
    const newer = await origin.publish(removed);
    const { code, stderr } = await rollback(dir, older);
    expect([code, currentOf(dir)]).toEqual([REFUSED, newer]);
    expect(stderr).toContain(reason);
  });

  test('does not bring back a cover that was taken down, unless told to', async () => {
    const dir = origin.snapshotsDir;
    const older = currentOf(dir);
    const newer = await origin.publish(`UPDATE covers SET status = 'rejected' WHERE id = ${cover}`);
    const before = readdirSync(dir, { recursive: true });
    const refused = await rollback(dir, older);
    expect([refused.code, refused.stdout]).toEqual([REFUSED, '']);
    const list = `With ${older}, 1 game would change to earlier content (${game}), 1 cover would come back (/covers/${cover}). "cover-catalogue snapshot diff --all ${newer} ${older}" lists all, except what only repeats a new title of a game or name of a platform.`;
    expect(refused.stderr).toBe(
      `${list} Nothing has changed. To publish them as they were, add --with-taken-down.\n`,
    );
    expect(currentOf(dir)).toBe(newer);
    expect(readdirSync(dir, { recursive: true })).toEqual(before);
    const statusNow = async () => (await origin.proxy.get(`/covers/${cover}`, origin.key)).status;
    expect(await statusNow()).toBe(404);

    const { code, stderr } = await rollback(dir, older, '--with-taken-down');
    expect(code).toBe(0);
    expect(stderr).toContain(`Warning: ${list}\n`);
    await origin.settle();
    expect(await statusNow()).toBe(200);
  });
});

test('a file that has no ids and belongs to no record brings nothing back', async () => {
  const { database, snapshotsDir: dir } = await makePublished();
  const made = generationDir(dir, currentOf(dir));
  // As an earlier version of the program may have written it.
  rmSync(path.join(made, MINISEARCH_OPTIONS_FILE));
  writeFileSync(path.join(made, MINISEARCH_OPTIONS_FILE), '{}');
  const older = fitManifest(dir, currentOf(dir));
  pointCurrentTo(dir, older);
  await generate(database.url, dir);
  expect(currentOf(dir)).not.toBe(older);
  expect((await rollback(dir, older)).stderr).not.toContain('Nothing has changed');
  expect(sequenceIn(dir, currentOf(dir))).toBe(3);
});

test('what would come back is counted; if that is not known, the operator must agree', async () => {
  const { database, snapshotsDir: dir } = await makePublished(sampleCatalogue());
  const older = currentOf(dir);
  const some = "SELECT id FROM covers WHERE status = 'approved' ORDER BY id LIMIT 25";
  const newer = await database.publish(
    dir,
    `UPDATE covers SET status = 'rejected' WHERE id IN (${some})`,
  );
  const { code, stderr } = await rollback(dir, older, '--no-hold');
  expect(code).toBe(REFUSED);
  expect(stderr).toMatch(/ 25 covers would come back \((?:\/covers\/\d+, ){4}\S+ and 20 more\)\. /);

  truncateSync(path.join(generationDir(dir, newer), 'index/games.bin'), 10);
  const unknown = await rollback(dir, older);
  expect([unknown.code, currentOf(dir)]).toEqual([REFUSED, newer]);
  expect(unknown.stderr).toMatch(
    /is not known, because the current generation cannot be read: index\/games/,
  );
  expect((await rollback(dir, older, '--with-taken-down')).code).toBe(0);
  expect(sequenceIn(dir, await expectCurrentVerifies(dir))).toBe(3);
});
