/** Only the user of the program may read its mails and its database of accounts and keys, with any umask. */
import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { openDatabase } from '../../database/open.ts';
import { CATALOGUE_TABLES } from '../../database/schema.ts';
import { createTables } from '../../database/tables.ts';
import { makeMailer } from '../../keys/mail/mailer.ts';
import { makeFolder } from '../support/product.ts';

const MAIL = {
  id: '1.2',
  to: 'a@covers.example',
  subject: 'News',
  text: 'Text.\n',
  date: new Date(),
};
const umask = process.umask();
afterEach(() => {
  process.umask(umask);
});

const modeOf = (file: string) => (statSync(file).mode & 0o777).toString(8);
/** The modes of all files in a folder, by name. */
const modesIn = (folder: string) =>
  Object.fromEntries(
    readdirSync(folder).map((name) => [name, modeOf(path.join(folder, name))] as const),
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
    expect([modeOf(folder), modesIn(folder)]).toEqual(['700', { newer: '700' }]);
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
    expect([modeOf(folder), modesIn(folder)]).toEqual(['700', { mail: '700' }]);
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
    expect(modeOf(folder)).toBe('750');
    expect(modesIn(folder)).toEqual({ 'catalogue.db': '660', '1.2.eml': '600' });
  });
});

test('a mail that could not be written completely is removed', async () => {
  const folder = makeFolder();
  mkdirSync(path.join(folder, '1.2.eml'));
  await expect(mailerIn(folder).send(MAIL)).rejects.toThrow('EISDIR');
  expect(readdirSync(folder)).toEqual(['1.2.eml']);
});
