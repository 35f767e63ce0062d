/** Empty databases of both kinds for tests, so that the same tests can run on each. */
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { openDatabase } from '#lib/database/open.ts';
import { atEndOfFile } from './end-of-file.ts';
import { makeFolder } from './product.ts';
import { mariaDbAt } from './servers/mariadb.ts';
import { shared } from './shared.ts';

/** For `describe.each(KINDS)`. `npm run test:quick` has no server. */
export const KINDS =
  process.env.QUICK === '1' ? (['sqlite'] as const) : (['mysql', 'sqlite'] as const);
export type Kind = 'mysql' | 'sqlite';

/** The server that all test files share. A test that kills or freezes a server starts its own. */
export async function sharedMariaDb() {
  return mariaDbAt(await shared('mariaDb'));
}

/** @returns the `DATABASE_URL` of an empty database, removed when the test file ends */
export async function makeDatabase(kind: Kind): Promise<string> {
  if (kind === 'sqlite') {
    const url = `sqlite:${path.join(makeFolder(), 'catalogue.db')}`;
    await (await openDatabase(url, { create: true })).close();
    return url;
  }
  const name = `test_${randomBytes(6).toString('hex')}`;
  const url = await (await sharedMariaDb()).createDatabase(name);
  atEndOfFile(async () => {
    const database = await openDatabase(url);
    await database.run(`DROP DATABASE ${name}`);
    await database.close();
  });
  return url;
}

/** Runs statements on a database. */
export async function change(url: string, ...statements: string[]): Promise<void> {
  const database = await openDatabase(url);
  for (const sql of statements) await database.run(sql);
  await database.close();
}

/**
 * A user of MariaDB without any right to the database, dropped when the test file ends. A server applies new
 * grants to new connections.
 */
export async function makeDatabaseUser(url: string) {
  const database = new URL(url).pathname.slice(1);
  const name = `u${randomBytes(6).toString('hex')}`;
  await change(url, `CREATE USER ${name} IDENTIFIED BY 'x'`);
  atEndOfFile(async () =>
    change((await sharedMariaDb()).url('mysql'), `DROP USER IF EXISTS ${name}`),
  );
  return {
    name,
    url: url.replace(/\/\/.*@/, `//${name}:x@`),
    /** @param rights such as "SELECT ON games" or "SELECT ON *" */
    grant: (...rights: string[]) =>
      change(
        url,
        ...rights.map((right) => `GRANT ${right.replace(' ON ', ` ON ${database}.`)} TO ${name}`),
      ),
    revokeAll: () => change(url, `REVOKE ALL PRIVILEGES, GRANT OPTION FROM ${name}`),
  };
}
