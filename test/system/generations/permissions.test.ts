/**
 * Only the owner may read a snapshots folder unless the operator shares it, and only the user of a program
 * its mails and its database of accounts and keys, with any umask.
 */
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { openDatabase } from '../../../database/open.ts';
import { CATALOGUE_TABLES } from '../../../database/schema.ts';
import { createTables } from '../../../database/tables.ts';
import { CHANGES, GENERATIONS } from '../../../format/layout.ts';
import { currentId } from '../../../generations/generations.ts';
import { makeMailer } from '../../../keys/mail/mailer.ts';
import { generate, makeFolder, NEVER, startProxy } from '../../support/product.ts';
import {
  changeTitle,
  key,
  listAll,
  makeDatabase,
  modeOf,
  modesOf,
  PRIVATE,
  SHARED,
} from './folder-modes.ts';

const umask = process.umask();
afterEach(() => {
  process.umask(umask);
});

async function serveOnce(dir: string): Promise<void> {
  const proxy = await startProxy(dir, {}, NEVER);
  expect((await proxy.get('/stats', key.key)).status).toBe(200);
  await proxy.stop();
}

describe.each(['000', '077'])('a snapshots folder with the umask %s', (digits) => {
  const mask = Number.parseInt(digits, 8);

  test('is readable only for its owner', async () => {
    const url = await makeDatabase();
    const dir = path.join(makeFolder(), 'deep', 'snapshots');
    process.umask(mask);
    await generate(url, dir);
    await serveOnce(dir);
    expect(listAll(dir)).toEqual(
      expect.arrayContaining(['keys.json', 'status.json', 'lock', 'lock.holder', 'proxy']),
    );
    expect(modesOf(path.dirname(dir))).toEqual(PRIVATE);
    expect(modeOf(path.dirname(dir))).toBe('700');
  });

  test('and the setgid bit is readable for its group too', async () => {
    const url = await makeDatabase();
    const dir = path.join(makeFolder(), 'snapshots');
    mkdirSync(dir);
    chmodSync(dir, 0o2770);
    process.umask(mask);
    await generate(url, dir);
    await serveOnce(dir);
    expect(modesOf(dir)).toEqual(SHARED);
    expect(modeOf(dir)).toBe('2770');
  });
});

test('without the setgid bit the content of a folder is private, even if everybody may read it', async () => {
  const url = await makeDatabase();
  const dir = path.join(makeFolder(), 'snapshots');
  mkdirSync(dir);
  chmodSync(dir, 0o755);
  await generate(url, dir);
  await serveOnce(dir);
  expect(modesOf(dir)).toEqual(PRIVATE);
});

test('a generation that is published after the folder was shared is shared', async () => {
  const url = await makeDatabase();
  const dir = path.join(makeFolder(), 'snapshots');
  await generate(url, dir);
  chmodSync(dir, 0o2750);
  await changeTitle(url, 'Another title');
  await generate(url, dir);
  expect(modesOf(path.join(dir, GENERATIONS, currentId(dir) as string))).toEqual(SHARED);
  for (const name of [GENERATIONS, CHANGES]) expect(modeOf(path.join(dir, name))).toBe('2750');
});

const MAIL = {
  id: '1.2',
  to: 'a@covers.example',
  subject: 'News',
  text: 'Text.\n',
  date: new Date(),
};
const permissionsOf = (file: string) => modeOf(file).slice(-3);
/** The permissions of all files in a folder, by name. */
const modesIn = (folder: string) =>
  Object.fromEntries(
    readdirSync(folder).map((name) => [name, permissionsOf(path.join(folder, name))] as const),
  );
const mailerIn = (folder: string) => makeMailer({ smtpUrl: '', folder, from: 'a@covers.example' });

describe.each(['000', '022', '077'])('with the umask %s', (digits) => {
  const mask = Number.parseInt(digits, 8);

  test('a SQLite database, its other files and the new folders above it are private', async () => {
    process.umask(mask);
    const folder = path.join(makeFolder(), 'new');
    const url = `sqlite:${path.join(folder, 'newer', 'catalogue.db')}`;
    const database = await openDatabase(url, { create: true });
    await createTables(database, CATALOGUE_TABLES);
    expect([permissionsOf(folder), modesIn(folder)]).toEqual(['700', { newer: '700' }]);
    expect(modesIn(path.join(folder, 'newer'))).toEqual({
      'catalogue.db': '600',
      'catalogue.db-shm': '600',
      'catalogue.db-wal': '600',
    });
    await database.close();
  });

  test('mails and the new folders above them are private', async () => {
    process.umask(mask);
    const folder = path.join(makeFolder(), 'new');
    await mailerIn(path.join(folder, 'mail')).send(MAIL);
    expect([permissionsOf(folder), modesIn(folder)]).toEqual(['700', { mail: '700' }]);
    expect(modesIn(path.join(folder, 'mail'))).toEqual({ '1.2.eml': '600' });
  });

  test('the modes of existing folders and databases do not change', async () => {
    process.umask(mask);
    const folder = makeFolder();
    chmodSync(folder, 0o750);
    const file = path.join(folder, 'catalogue.db');
    writeFileSync(file, '');
    chmodSync(file, 0o660);
    const database = await openDatabase(`sqlite:${file}`, { create: true });
    await createTables(database, CATALOGUE_TABLES);
    await database.close();
    await mailerIn(folder).send(MAIL);
    expect(permissionsOf(folder)).toBe('750');
    expect(modesIn(folder)).toEqual({ 'catalogue.db': '660', '1.2.eml': '600' });
  });
});

test('a mail that could not be written completely is removed', async () => {
  const folder = makeFolder();
  mkdirSync(path.join(folder, '1.2.eml'));
  await expect(mailerIn(folder).send(MAIL)).rejects.toThrow('EISDIR');
  expect(readdirSync(folder)).toEqual(['1.2.eml']);
});
