/**
 * The tables of the catalogue: whether they exist and can be read, the types and character sets of their
 * columns, and the statuses of covers.
 */
import type { Database, Row } from '../../../database/database.ts';
import { CATALOGUE_TABLES, checkCatalogue, GAME_TITLES_TABLE } from '../../../database/schema.ts';
import { isApproved } from '../../../generator/read/row-checks.ts';
import { printableJson } from '../../../generator/report/shown-value.ts';
import type { Check, Findings } from '../../findings/check.ts';

const SEE = 'See "Your database" in README.md and "The catalogue tables" in OPERATIONS.md.';
const TABLES = { ...CATALOGUE_TABLES, ...GAME_TITLES_TABLE };
/** For each kind of column, the types of MySQL and MariaDB that the generator can read as such. */
const TYPES = {
  'a whole number': /^(?:(?:tiny|small|medium|big)?int|decimal|numeric|year|bit)$/,
  text: /^(?:(?:var)?char|(?:tiny|medium|long)?text|enum|set|json|uuid|(?:var)?binary|(?:tiny|medium|long)?blob)$/,
  'a time': /^(?:datetime|timestamp)$/,
} as const;
/** CAST alone would make the year 0 of a text that is not a number. */
const YEAR_FIX =
  "Convert it in a view: IF(release_year REGEXP '^[0-9]{4}$', CAST(release_year AS UNSIGNED), NULL). CAST alone makes the year 0 of a text that is not a number.";
/** More statuses are not listed. */
const MOST_STATUSES = 12;

export const catalogue: Check = {
  name: 'catalogue tables',
  programs: ['schedule'],
  async run(scene, findings) {
    const database = await scene.database();
    try {
      const { hasGameTitles } = await checkCatalogue(database);
      const names = Object.keys(hasGameTitles ? TABLES : CATALOGUE_TABLES);
      findings.ok(`These tables exist, with all columns, and can be read: ${names.join(', ')}.`);
    } catch (error) {
      findings.error((error as Error).message, SEE);
      return;
    }
    const isReadable = database.kind !== 'mysql' || (await checkColumns(database, findings));
    // A database would count texts that are not numbers as 0, too.
    if (isReadable) await checkYears(database, findings);
    await checkStatuses(database, findings);
  },
};

/**
 * Columns of views have the type and the character set of what they select.
 * @returns whether all columns have a type that the generator reads
 */
async function checkColumns(database: Database, findings: Findings): Promise<boolean> {
  const rows = await database.rows(
    `SELECT LOWER(table_name), LOWER(column_name), LOWER(data_type), character_set_name
      FROM information_schema.columns WHERE table_schema = DATABASE()
      ORDER BY table_name, ordinal_position`,
  );
  const wrong = rows.flatMap((row) => wrongType(row) ?? []);
  for (const { column, text } of wrong) {
    findings.error(
      text,
      column === 'release_year' ? YEAR_FIX : 'Change the type of the column, or CAST it in a view.',
    );
  }
  const others = rows.filter(([table, column, , charset]) => {
    return (
      definitionOf(table, column) !== undefined &&
      charset !== null &&
      !/^(?:utf8|ascii|binary)/.test(String(charset))
    );
  });
  for (const [table, column, , charset] of others) {
    findings.warn(
      `${table}.${column} has the character set ${charset}. If your site stores UTF-8 in it, the API serves it garbled.`,
      'Compare the sample records below with your site. If they differ, convert the column to utf8mb4.',
    );
  }
  if (wrong.length === 0) findings.ok('All columns have types that the generator reads.');
  return wrong.length === 0;
}

/** A plain CAST of text, or a column of the type YEAR without a year, gives 0. */
async function checkYears(database: Database, { warn }: Findings): Promise<void> {
  const [[count] = []] = await database.rows('SELECT COUNT(*) FROM games WHERE release_year = 0');
  if (Number(count) === 0) return;
  warn(
    `Games with the release year 0: ${count}. The API would serve this year, and sort them first.`,
    'If their year is not known, make it NULL in a view: NULLIF(release_year, 0).',
  );
}

function definitionOf(table: Row[number], column: Row[number]): string | undefined {
  const tables: Readonly<Record<string, { columns: Readonly<Record<string, string>> }>> = TABLES;
  return tables[String(table)]?.columns[String(column)];
}

function wrongType([table, column, type]: Row): { column: string; text: string } | undefined {
  const definition = definitionOf(table, column);
  if (definition === undefined) return undefined;
  const kind = /INT/.test(definition)
    ? 'a whole number'
    : definition.startsWith('DATETIME')
      ? 'a time'
      : 'text';
  if (TYPES[kind].test(String(type))) return undefined;
  const text = `${table}.${column} has the type ${type}, but must be ${kind}.`;
  return { column: String(column), text };
}

/** Counts the statuses as the generator reads them: byte by byte, regardless of the collation. */
async function checkStatuses(database: Database, findings: Findings): Promise<void> {
  const counts = new Map<string | number | null, number>();
  // Counted here, because a database would count "Approved" as "approved" if the collation says so.
  await database.each('SELECT status FROM covers', ([status]) => {
    counts.set(status ?? null, (counts.get(status ?? null) ?? 0) + 1);
  });
  const shown = [...counts].sort(([, a], [, b]) => b - a).slice(0, MOST_STATUSES);
  const list = shown.map(([status, count]) => `${printableJson(status)} ${count}`).join(', ');
  findings.ok(`Covers by status: ${list === '' ? 'there are no covers' : list}.`);
  for (const [status, count] of shown) {
    isApproved(status, (reason) =>
      findings.warn(
        `${count} covers with ${printableJson(status)}: ${reason}.`,
        'If these covers are to be public, translate the status in a view of covers; OPERATIONS.md shows how under "Publishing".',
      ),
    );
  }
  if (counts.size > 0 && !counts.has('approved')) {
    findings.error(
      'No cover has the status "approved": the API would serve no covers, and the first run is refused.',
      "Translate the statuses of your site in a view of covers: CASE status WHEN … THEN 'approved' … END.",
    );
  }
}
