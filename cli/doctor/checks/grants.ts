/**
 * Whether the user of DATABASE_URL has the rights that the programs need, and none to change the
 * catalogue. The server itself decides: each right is tried with a statement that changes nothing.
 */

import { viewsOf } from '../../../keys/tables/accounts.ts';
import { KEYS_RIGHTS, SCHEDULE_RIGHTS } from '../../../keys/tables/rights.ts';
import { ACCOUNTS_TABLE, hasHistoryTriggers, KEYS_TABLES } from '../../../keys/tables/schema.ts';
import type { Database } from '../../../lib/database/database.ts';
import { readUser } from '../../../lib/database/hidden-views.ts';
import { CATALOGUE_TABLES } from '../../../lib/database/schema.ts';
import { columnNames, type Table, type Tables } from '../../../lib/database/tables.ts';
import { type Check, requireDatabase } from '../check.ts';

/** Access denied to a table, and to a column. */
const DENIED = [1142, 1143];
/** Triggers are denied while there is a binary log. */
const DENIED_BY_LOG = 1419;
const CHANGES = ['INSERT', 'UPDATE', 'DELETE'];

export const grants: Check = {
  name: 'grants',
  programs: ['schedule', 'account'],
  fix: 'Run as an administrator: SHOW GRANTS FOR the user of DATABASE_URL; then grant what operations/from-your-site.md and operations/keys.md list.',
  async run(context, { ok, warn, error }) {
    const { programs } = context;
    const database = requireDatabase(context);
    if (database.kind === 'sqlite') {
      ok('SQLite has no users: the permissions of its file decide.');
      return;
    }
    const { user, schema } = await readUser(database);
    const existing = await database.columns();
    let isSound = true;
    const check = async (tables: Tables, needed: (table: string) => readonly string[]) => {
      for (const [table, definition] of Object.entries(tables)) {
        const { denied } = await tryRights(database, table, definition, needed(table));
        if (denied.length === 0) continue;
        isSound = false;
        const missing = denied.join(', ');
        error(
          `${user} lacks ${missing} on ${table}.`,
          `Run as an administrator: GRANT ${missing} ON ${schema}.${table} TO ${user};`,
        );
      }
    };
    if (programs.includes('schedule')) await check(CATALOGUE_TABLES, () => ['SELECT']);
    await check(KEYS_TABLES, (table) => {
      // `account` and the first use of `cover-catalogue keys` create the tables that do not exist.
      const isThere = existing.has(table);
      const ofAccount = programs.includes('account') ? KEYS_RIGHTS[table] : undefined;
      const ofSchedule =
        programs.includes('schedule') && (isThere || ofAccount)
          ? SCHEDULE_RIGHTS[table]
          : undefined;
      const create = ofAccount && !isThere ? ['CREATE'] : [];
      const used = [ofAccount, ofSchedule].flatMap((rights) =>
        rights ? ['SELECT', ...rights] : [],
      );
      return [...new Set([...create, ...used])];
    });
    if (programs.includes('account')) {
      await check(ACCOUNTS_TABLE, () => ['SELECT']);
      const isOwn = existing.has('accounts') && !(await viewsOf(database)).has('accounts');
      const { denied } = await tryRights(database, 'accounts', ACCOUNTS_TABLE.accounts, CHANGES);
      if (isOwn && denied.length > 0) {
        isSound = false;
        const missing = denied.join(', ');
        warn(
          `${user} lacks ${missing} on accounts: "cover-catalogue keys account" cannot change accounts.`,
          `Unless your site does that, run as an administrator: GRANT ${missing} ON ${schema}.accounts TO ${user};`,
        );
      }
      const history = KEYS_TABLES.key_events;
      const rights = ['UPDATE', 'DELETE', 'TRIGGER'];
      const refused = (await tryRights(database, 'key_events', history, rights)).denied;
      const isProtected = refused.includes('UPDATE') && refused.includes('DELETE');
      if (!isProtected && refused.includes('TRIGGER') && !(await hasHistoryTriggers(database))) {
        isSound = false;
        warn(
          `${user} may change the history of keys in key_events, and cannot create the triggers that prevent it: "account" and "cover-catalogue keys" end with an error if they do not exist.`,
          'Run "cover-catalogue keys list" once as an administrator, or revoke UPDATE and DELETE on key_events.',
        );
      }
    }
    for (const [table, definition] of Object.entries(CATALOGUE_TABLES)) {
      const { allowed } = await tryRights(database, table, definition, CHANGES);
      if (allowed.length === 0) continue;
      isSound = false;
      warn(
        `${user} has ${allowed.join(', ')} on ${table}, which no program needs: a mistake or an attacker could change the catalogue.`,
        `Run as an administrator: REVOKE ALL PRIVILEGES, GRANT OPTION FROM ${user}; then grant what operations/from-your-site.md and operations/keys.md list.`,
      );
    }
    if (isSound) ok(`${user} has the rights that it needs, and none to change the catalogue.`);
  },
};

/** A statement that fails for another reason, such as a missing table, says nothing about the right. */
async function tryRights(
  database: Database,
  table: string,
  definition: Table,
  rights: readonly string[],
): Promise<{ allowed: string[]; denied: string[] }> {
  const columns = columnNames(definition);
  const statements: Readonly<Record<string, string>> = {
    SELECT: `SELECT ${columns} FROM ${table} WHERE 1 = 0`,
    INSERT: `INSERT INTO ${table} (${columns}) SELECT ${columns.map(() => 1)} FROM DUAL WHERE 1 = 0`,
    UPDATE: `UPDATE ${table} SET ${columns[0]} = 1 WHERE 1 = 0`,
    DELETE: `DELETE FROM ${table} WHERE 1 = 0`,
    // They fail for another reason if the right is there.
    CREATE: `CREATE TABLE ${table} (twice INT, twice INT)`,
    TRIGGER: `CREATE TRIGGER ${table}_right BEFORE UPDATE ON ${table} FOR EACH ROW SET NEW.no_column = 1`,
  };
  const [allowed, denied]: [string[], string[]] = [[], []];
  for (const right of rights) {
    try {
      await database.run(statements[right] ?? '');
      allowed.push(right);
    } catch (error) {
      const { errno } = Object((error as Error).cause) as { errno?: number };
      if (errno !== undefined && [...DENIED, DENIED_BY_LOG].includes(errno)) denied.push(right);
    }
  }
  return { allowed, denied };
}
