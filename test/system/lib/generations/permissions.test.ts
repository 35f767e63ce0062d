/**
 * Only the owner may read a snapshots folder unless the operator shares it, and only the user of a program
 * its mails and its database of accounts and keys, with any umask.
 */
import { chmodSync, chownSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { makeMailer } from '#keys/mail/mailer.ts';
import { openDatabase } from '#lib/database/open.ts';
import { CATALOGUE_TABLES } from '#lib/database/schema.ts';
import { createTables } from '#lib/database/tables.ts';
import { GENERATIONS, REPORT, UNFINISHED_PREFIX } from '#lib/format/layout.ts';
import { removeDeadWrites, replaceFile } from '#lib/generations/files/replace-file.ts';
import { currentId } from '#lib/generations/generations.ts';
import { makeSampleSqlite } from '#test/catalogue/snapshots.ts';
import { change } from '#test/support/databases.ts';
import { generate, makeFolder, NEVER, runKeys, startProxy } from '#test/support/product.ts';
import { ageDeadWrites } from '#test/support/wholeness.ts';

/** A database with one key, which everybody may read and write. */
async function makeSite() {
  const url = await makeSampleSqlite();
  const key = (await runKeys(url, ['issue'])).stdout.trim();
  const folder = path.dirname(url.slice('sqlite:'.length));
  for (const name of listAll(folder)) chmodSync(path.join(folder, name), 0o777);
  const first = '(SELECT MIN(id) FROM games)';
  const changeTitle = () => change(url, `UPDATE games SET title = 'Another' WHERE id = ${first}`);
  return { url, key, changeTitle };
}

/** Every file and folder under a folder, itself included, by relative path. Links are left out. */
function listAll(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const inside = entries
    .filter((entry) => !entry.isSymbolicLink())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)));
  return ['.', ...inside];
}

const modeOf = (file: string) => (statSync(file).mode & 0o7777).toString(8);

/**
 * The distinct modes of all files, and of all folders except the outermost. The report of a run and
 * the id of the holder of the lock are left out, because they are always private.
 */
function modesOf(folder: string): { files: string[]; folders: string[] } {
  const files = new Set<string>();
  const folders = new Set<string>();
  for (const name of listAll(folder)) {
    const file = path.join(folder, name);
    if (name === REPORT || name === 'lock.holder') expect(modeOf(file)).toBe('600');
    else if (!statSync(file).isDirectory()) files.add(modeOf(file));
    else if (name !== '.') folders.add(modeOf(file));
  }
  return { files: [...files], folders: [...folders] };
}

const SHARED = { files: ['640'], folders: ['2750'] };
const PRIVATE = { files: ['600'], folders: ['700'] };
const MAIL = {
  ...{ id: '1.2', to: 'a@covers.example', subject: 'News', text: 'Text.\n', date: new Date() },
};

const umask = process.umask();
afterEach(() => {
  process.umask(umask);
});

/** Generates in a new folder with this mode, or in one that does not exist, and serves it. */
async function makeServed(mode: number | undefined, mask = umask) {
  const { url, key, changeTitle } = await makeSite();
  const dir = path.join(makeFolder(), 'above', 'snapshots');
  if (mode !== undefined) {
    mkdirSync(dir, { recursive: true });
    chmodSync(dir, mode);
  }
  process.umask(mask);
  await generate(url, dir);
  const proxy = await startProxy(dir, {}, NEVER);
  expect((await proxy.get('/stats', key)).status).toBe(200);
  await proxy.stop();
  return { url, dir, changeTitle };
}

/** Opens a database with tables in this file, which need not exist. */
async function openTables(file: string) {
  const database = await openDatabase(`sqlite:${file}`, { create: true });
  await createTables(database, CATALOGUE_TABLES);
  return database;
}
const mailerIn = (folder: string) => makeMailer({ smtpUrl: '', folder, from: 'a@covers.example' });

describe.each(['000', '077'])('with the umask %s', (digits) => {
  const mask = Number.parseInt(digits, 8);

  test('a snapshots folder and the new ones above it are readable only for the owner', async () => {
    const { dir } = await makeServed(undefined, mask);
    expect(listAll(dir)).toEqual(
      expect.arrayContaining(['keys.json', 'status.json', 'lock', 'lock.holder', 'proxy']),
    );
    expect(modesOf(path.dirname(dir))).toEqual(PRIVATE);
    expect(modeOf(path.dirname(dir))).toBe('700');
  });

  test('one with the setgid bit is readable for its group too', async () => {
    const { dir } = await makeServed(0o2770, mask);
    expect(modesOf(dir)).toEqual(SHARED);
    expect(modeOf(dir)).toBe('2770');
  });

  test('a SQLite database, its other files, mails and the new folders above them are private', async () => {
    process.umask(mask);
    const folder = path.join(makeFolder(), 'new');
    const database = await openTables(path.join(folder, 'newer/catalogue.db'));
    await mailerIn(path.join(folder, 'mail')).send(MAIL);
    const files = ['catalogue.db', 'catalogue.db-shm', 'catalogue.db-wal'];
    const newer = ['newer', ...files.map((name) => `newer/${name}`)];
    expect(listAll(folder).toSorted()).toEqual(['.', 'mail', 'mail/1.2.eml', ...newer]);
    expect([modesOf(folder), modeOf(folder)]).toEqual([PRIVATE, '700']);
    await database.close();
  });

  test('the modes of existing folders and databases do not change', async () => {
    process.umask(mask);
    const folder = makeFolder();
    chmodSync(folder, 0o750);
    const file = path.join(folder, 'catalogue.db');
    writeFileSync(file, '');
    chmodSync(file, 0o660);
    await (await openTables(file)).close();
    await mailerIn(folder).send(MAIL);
    const mail = path.join(folder, '1.2.eml');
    expect([folder, file, mail].map(modeOf)).toEqual(['750', '660', '600']);
  });
});

test('without the setgid bit the content of a folder is private, even if everybody may read it', async () => {
  expect(modesOf((await makeServed(0o755)).dir)).toEqual(PRIVATE);
});

test('a generation that is published after the folder was shared is shared', async () => {
  const { url, dir, changeTitle } = await makeServed(undefined);
  chmodSync(dir, 0o2750);
  await changeTitle();
  await generate(url, dir);
  expect(modesOf(path.join(dir, GENERATIONS, currentId(dir) as string))).toEqual(SHARED);
  expect(modeOf(path.join(dir, GENERATIONS))).toBe('2750');
});

test('a mail that could not be written completely is removed', async () => {
  const folder = makeFolder();
  mkdirSync(path.join(folder, '1.2.eml'));
  await expect(mailerIn(folder).send(MAIL)).rejects.toThrow('EISDIR');
  expect(readdirSync(folder)).toEqual(['1.2.eml']);
});

test.skipIf(process.getuid?.() !== 0)(
  'an unfinished file of another user in the group is removed',
  () => {
    const [user, other, group] = [64_101, 64_102, 64_103];
    const dir = makeFolder();
    chownSync(dir, other, group);
    chmodSync(dir, 0o2770);
    const left = path.join(dir, `${UNFINISHED_PREFIX}0123456789ab-file.json`);
    writeFileSync(left, 'left over');
    chownSync(left, other, group);
    ageDeadWrites(dir);
    process.setegid?.(group);
    process.seteuid?.(user);
    try {
      removeDeadWrites(dir);
      replaceFile(path.join(dir, 'file.json'), 'new');
    } finally {
      process.seteuid?.(0);
      process.setegid?.(0);
    }
    expect(readdirSync(dir)).toEqual(['file.json']);
    const { uid, gid, mode, size } = statSync(path.join(dir, 'file.json'));
    expect([uid, gid, mode & 0o777, size]).toEqual([user, group, 0o640, 3]);
  },
);
