/** Empty databases of both kinds for tests, so that the same tests can run on each. */
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { openDatabase } from '#lib/database/open.ts';
import { atEndOfFile } from './end-of-file.ts';
import { makeFolder } from './product.ts';
import { databaseServerAt } from './servers/database-server.ts';
import { shared } from './shared.ts';

/** For `describe.each(KINDS)`. `npm run test:quick` has no server. */
export const KINDS =
  process.env.QUICK === '1' ? (['sqlite'] as const) : (['mysql', 'sqlite'] as const);
export type Kind = 'mysql' | 'sqlite';

/** The server that all test files share. A test that kills or freezes a server starts its own. */
export async function sharedServer() {
  return databaseServerAt((await shared('databaseServer')).port);
}

/** @returns the `DATABASE_URL` of an empty database, removed when the test file ends */
export async function makeDatabase(kind: Kind): Promise<string> {
  if (kind === 'sqlite') {
    const url = `sqlite:${path.join(makeFolder(), 'catalogue.db')}`;
    await (await openDatabase(url, { create: true })).close();
    return url;
  }
  const name = `test_${randomBytes(6).toString('hex')}`;
  const url = await (await sharedServer()).createDatabase(name);
  atEndOfFile(async () => {
    const database = await openDatabase(url);
    await database.run(`DROP DATABASE ${name}`);
    await database.close();
  });
  return url;
}

/** A SELECT of ten to the power of `power` equal rows, of which either server sends the first at once. */
export function selectMany(power: number, value = '1'): string {
  const ten = `(SELECT 1${' UNION ALL SELECT 1'.repeat(9)})`;
  const tables = Array.from({ length: power }, (_, i) => `${ten} AS t${i}`);
  // The hint: MySQL would otherwise join them all before it sends a row.
  return `SELECT /*+ NO_BNL() */ ${value} FROM ${tables.join(', ')}`;
}

/** Runs statements on a database. */
export async function change(url: string, ...statements: string[]): Promise<void> {
  const database = await openDatabase(url);
  for (const sql of statements) await database.run(sql);
  await database.close();
}

/**
 * A user of that server without any right to the database, dropped when the test file ends. A server applies new
 * grants to new connections.
 */
export async function makeDatabaseUser(url: string) {
  const database = new URL(url).pathname.slice(1);
  const name = `u${randomBytes(6).toString('hex')}`;
  await change(url, `CREATE USER ${name} IDENTIFIED BY 'x'`);
  atEndOfFile(async () =>
    change((await sharedServer()).url('mysql'), `DROP USER IF EXISTS ${name}`),
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
