/** A generation whose sizes and hashes are right is still refused if a reader cannot rely on its values. */
import { cpSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { checkFind } from '#find/check.ts';
import { viewColumns } from '#lib/columns/container.ts';
import {
  COVER_INDEX,
  CURRENT,
  FILTER_INDEX,
  FORMAT_VERSION,
  GAME_INDEX,
  MATCH_INDEX,
  PATH_INDEX,
  REMOVED,
  SINCE_INDEX,
  TITLE_INDEX,
  WORD_INDEX,
} from '#lib/format/layout.ts';
import { isIntact } from '#lib/generations/files/checked-files.ts';
import { verifyAndOpen, withoutRecords } from '#lib/generations/verify.ts';
import { openFiles } from '#proxy/snapshot/open-files.ts';
import { seededCatalogue } from '#test/catalogue/seeded.ts';
import { makeSnapshots } from '#test/catalogue/snapshots.ts';
import { forgeFile } from '#test/support/forge.ts';
import { makeFolder } from '#test/support/product.ts';

const snapshotsDir = await makeSnapshots(seededCatalogue({ games: 60, seed: 5, platforms: 3 }));
const original = realpathSync(path.join(snapshotsDir, CURRENT));

/** A copy of the generation with another value in a column of a file. */
function forgeColumn(name: string, column: string, value: number) {
  const dir = path.join(makeFolder(), 'forged');
  cpSync(original, dir, { recursive: true });
  return forgeFile(dir, name, (bytes) => {
    viewColumns(bytes, name, FORMAT_VERSION)[column].fill(value, -1);
    return bytes;
  });
}

test.each([
  [GAME_INDEX, 'firstCover'],
  [PATH_INDEX, 'gameOfRank'],
  [COVER_INDEX, 'numberOfId'],
  [WORD_INDEX, 'words.entries'],
  [FILTER_INDEX, 'genres.entries'],
  [MATCH_INDEX, 'loose.game'],
  [TITLE_INDEX, 'start'],
  [SINCE_INDEX, 'games.changed'],
])('a wrong value in %s is refused when the generation arrives', async (name, column) => {
  const { dir } = forgeColumn(name, column, 1e6);
  const check = verifyAndOpen(dir, withoutRecords(isIntact, checkFind));
  await expect(check).rejects.toThrow(`${name} is damaged: `);
});

test('a wrong list of what was removed is refused when the generation arrives', async () => {
  const dir = path.join(makeFolder(), 'forged');
  cpSync(original, dir, { recursive: true });
  const forged = forgeFile(dir, REMOVED, (bytes) => Buffer.concat([bytes, Buffer.from(' ')]));
  const check = verifyAndOpen(forged.dir, withoutRecords(isIntact, checkFind));
  await expect(check).rejects.toThrow(`${REMOVED} is damaged: `);
});

test('whoever opens a generation to serve it does not check its values again', () => {
  const { dir, id } = forgeColumn(TITLE_INDEX, 'start', 1e6);
  expect(() => openFiles({ dir, id })).not.toThrow();
});
