/**
 * Only the owner may read a snapshots folder unless the operator shares it, and only the user of a program
 * its mails and its database of accounts and keys, with any umask.
 */
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { makeMailer } from '#keys/mail/mailer.ts';
import { openDatabase } from '#lib/database/open.ts';
import { CATALOGUE_TABLES } from '#lib/database/schema.ts';
import { createTables } from '#lib/database/tables.ts';
import { CHANGES, GENERATIONS } from '#lib/format/layout.ts';
import { currentId } from '#lib/generations/generations.ts';
import { generate, makeFolder, NEVER, startProxy } from '#test/support/product.ts';
import { listAll, makeSite, modeOf, modesOf, SHARED } from './folder-modes.ts';

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
  for (const name of [GENERATIONS, CHANGES]) expect(modeOf(path.join(dir, name))).toBe('2750');
});

test('a mail that could not be written completely is removed', async () => {
  const folder = makeFolder();
  mkdirSync(path.join(folder, '1.2.eml'));
  await expect(mailerIn(folder).send(MAIL)).rejects.toThrow('EISDIR');
  expect(readdirSync(folder)).toEqual(['1.2.eml']);
});
