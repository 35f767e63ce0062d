/**
 * `database/mysql-query.ts` reads three members of mysql2's connections that its types do not declare.
 * This test fails for any version of mysql2 with which they have not been checked.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Socket } from 'node:net';
import { createConnection } from 'mysql2';
import { expect, test } from 'vitest';
import { openDatabase } from '../../../database/open.ts';
import { makeDatabase } from '../../support/databases.ts';

const CHECKED_VERSION = '3.24.5';

test('a connection of the installed mysql2 has these members', async () => {
  const packageFile = createRequire(import.meta.url).resolve('mysql2/package.json');
  expect(JSON.parse(readFileSync(packageFile, 'utf8')).version).toBe(CHECKED_VERSION);
  const url = await makeDatabase('mysql');
  await (await openDatabase(url)).close();
  const connection = createConnection(url);
  const members: { stream?: unknown; _closing?: unknown; _fatalError?: unknown } =
    Object(connection);
  const { stream } = members;
  if (!(stream instanceof Socket)) throw new Error('mysql2 keeps its socket elsewhere.');
  await new Promise((resolve) => connection.once('connect', resolve));
  expect([Boolean(members._closing), Boolean(members._fatalError)]).toEqual([false, false]);
  connection.on('error', () => {});
  const closed = new Promise((resolve) => stream.once('close', resolve));
  connection.query('KILL CONNECTION_ID()', () => {});
  await closed;
  expect([Boolean(members._closing), Boolean(members._fatalError)]).toContain(true);
});
