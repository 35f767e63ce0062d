/**
 * Finds views whose definitions the user may not see: MySQL and MariaDB show a definition only to its
 * definer and to users with the right SHOW VIEW. {@link Database.identity} does not change
 * when such a view is redefined.
 */
import type { Database, Row } from './database.ts';

interface HiddenViews {
  /** What is wrong, as a clause: "'covers'@'%' may not see how the views covers, games are defined". */
  readonly fault: string;
  /** The statement that shows them, for an administrator. */
  readonly grant: string;
}

/**
 * @param tables names of tables and views, in lower case
 * @returns those of the views that are hidden, and of the views of the same database that they read;
 * undefined if there are none
 */
export async function findHiddenViews(
  database: Database,
  tables: readonly string[],
): Promise<HiddenViews | undefined> {
  // SQLite has no rights, and shows every definition.
  if (database.kind === 'sqlite') return undefined;
  const views = await database.rows(
    `SELECT LOWER(table_name), table_name, COALESCE(LOWER(view_definition), '')
      FROM information_schema.views WHERE table_schema = DATABASE()`,
  );
  const used = new Set(views.filter(([key]) => tables.includes(String(key))));
  // The loop also visits the views that it adds: those that one of the views names, in backquotes.
  for (const [, , definition] of used) {
    const isNamed = ([key]: Row) =>
      String(definition).includes(`\`${String(key).replaceAll('`', '``')}\``);
    for (const view of views.filter(isNamed)) used.add(view);
  }
  const hidden = [...used].filter(([, , text]) => text === '').map(([, name]) => String(name));
  if (hidden.length === 0) return undefined;
  const { user, schema } = await readUser(database);
  const which =
    hidden.length > 1 ? `the views ${hidden.sort().join(', ')} are` : `the view ${hidden[0]} is`;
  return {
    fault: `${user} may not see how ${which} defined`,
    grant: `GRANT SHOW VIEW ON ${schema}.* TO ${user}`,
  };
}

/**
 * @param database on MySQL or MariaDB
 * @returns the user as statements name it, "'covers'@'%'", and the name of the database
 */
export async function readUser(database: Database) {
  const [[name, schema] = []] = await database.rows('SELECT CURRENT_USER(), DATABASE()');
  const user = String(name).replace(/^(.*)@([^@]*)$/, "'$1'@'$2'");
  return { user, schema: String(schema) };
}
