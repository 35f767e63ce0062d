/** Empty databases of both kinds for tests, so that the same tests can run on each. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, inject } from 'vitest';
import { openDatabase } from '../../database/open.ts';
import { type MariaDbAddress, mariaDbAt } from './servers/mariadb.ts';

/** For `describe.each(KINDS)`. */
export const KINDS = ['mysql', 'sqlite'] as const;
export type Kind = (typeof KINDS)[number];

const dropped: (() => Promise<void>)[] = [];

afterAll(async () => {
  for (const drop of dropped) await drop();
});

/** The server that all test files share. A test that kills or freezes a server starts its own. */
export function sharedMariaDb(): MariaDbAddress {
  return mariaDbAt(inject('mariaDb'));
}

/** @returns the `DATABASE_URL` of an empty database, removed when the test file ends */
export async function makeDatabase(kind: Kind): Promise<string> {
  if (kind === 'sqlite') {
    const folder = mkdtempSync(join(tmpdir(), 'catalogue-database-'));
    dropped.push(async () => rmSync(folder, { recursive: true, force: true }));
    const url = `sqlite:${join(folder, 'catalogue.db')}`;
    await (await openDatabase(url, { create: true })).close();
    return url;
  }
  const name = `test_${randomBytes(6).toString('hex')}`;
  const url = await sharedMariaDb().createDatabase(name);
  dropped.push(async () => {
    const database = await openDatabase(url);
    await database.run(`DROP DATABASE ${name}`);
    await database.close();
  });
  return url;
}
