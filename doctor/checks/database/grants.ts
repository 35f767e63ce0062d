/**
 * Whether the user of DATABASE_URL has exactly the rights that the programs need: a missing right is an
 * error, and a right that no program needs is a warning, such as one to write to the catalogue. So is a
 * view whose definition the user may not see.
 */
import { statSync } from 'node:fs';
import type { Database } from '../../../database/database.ts';
import { type Grant, type Grants, hasRight, readGrants } from '../../../database/grants.ts';
import { findHiddenViews } from '../../../database/hidden-views.ts';
import {
  CATALOGUE_TABLES,
  GAME_TITLES_TABLE,
  TIMED_TABLES,
  UPDATED_AT,
} from '../../../database/schema.ts';
import { viewsOf } from '../../../keys/tables/accounts.ts';
import { KEYS_RIGHTS, OWN_ACCOUNTS_RIGHTS, SCHEDULE_RIGHTS } from '../../../keys/tables/rights.ts';
import { ACCOUNTS_TABLE } from '../../../keys/tables/schema.ts';
import { type Check, type Findings, type Program, requireValue } from '../../findings/check.ts';

/** Rights that reveal definitions and change nothing. */
const HARMLESS = ['SHOW VIEW', 'SHOW DATABASES', 'SHOW CREATE ROUTINE'];
const CHANGING = /^(?:ALL|INSERT|UPDATE|DELETE|DROP|ALTER|CREATE|TRIGGER|INDEX)/;
/** A finding lists at most this many rights: a user with all rights has dozens. */
const MOST_LISTED = 8;

/** For each table, the rights that are needed, and further ones that are allowed. */
type Wanted = ReadonlyMap<string, { needed: Set<string>; allowed: Set<string> }>;

export const grants: Check = {
  name: 'grants',
  programs: ['schedule', 'account'],
  async run(scene, findings) {
    const database = await scene.database();
    if (database.kind === 'sqlite') {
      checkFile(requireValue(scene, 'DATABASE_URL').slice('sqlite:'.length), findings);
      return;
    }
    const found = await readGrants(database);
    const existing = await database.columns();
    const isView = (await viewsOf(database)).has('accounts');
    const wanted = wantedBy(scene.programs, (table) => existing.has(table), isView);
    const isComplete = reportMissing(found, wanted, findings);
    const isMinimal = reportExcess(found, wanted, findings);
    const isShown = await reportHiddenViews(database, existing, scene.programs, findings);
    if (isComplete && isMinimal && isShown)
      findings.ok(`${found.user} has exactly the rights that it needs.`);
  },
};

/** SQLite has no users, so the permissions of its file decide. */
function checkFile(file: string, { ok, warn }: Findings): void {
  const bits = statSync(file).mode & 0o777;
  if ((bits & 0o077) === 0) ok(`Only its owner may use ${file}.`);
  else {
    warn(
      `${file} has the mode ${bits.toString(8)}: other users of this machine may use it. It holds the addresses of accounts.`,
      `Run: chmod 600 ${file}*`,
    );
  }
}

/** @param isView whether `accounts` is a view of the site's accounts, which no program writes to */
function wantedBy(
  programs: readonly Program[],
  exists: (table: string) => boolean,
  isView: boolean,
): Wanted {
  const wanted = new Map<string, { needed: Set<string>; allowed: Set<string> }>();
  const add = (table: string, use: readonly string[], setup: readonly string[]) => {
    const { needed, allowed } = wanted.get(table) ?? { needed: new Set(), allowed: new Set() };
    for (const right of use) needed.add(right);
    for (const right of setup) allowed.add(right);
    wanted.set(table, { needed, allowed });
  };
  // MySQL and MariaDB hide a table from a user who has no right to it, so a hidden table is needed, too.
  const read = (tables: object) => {
    for (const table of Object.keys(tables)) add(table, ['SELECT'], []);
  };
  const isForSchedule = programs.includes('schedule');
  const isForAccount = programs.includes('account');
  if (isForSchedule) {
    read(CATALOGUE_TABLES);
    // This table is optional.
    if (exists('game_titles')) read(GAME_TITLES_TABLE);
  }
  if (isForAccount) read(ACCOUNTS_TABLE);
  if (!isView) add('accounts', [], OWN_ACCOUNTS_RIGHTS);
  for (const [table, { use, setup }] of Object.entries(KEYS_RIGHTS)) {
    // `cover-catalogue keys` runs with the same DATABASE_URL as each of the programs.
    add(table, [], ['SELECT', ...use, ...setup]);
    const ofSchedule = SCHEDULE_RIGHTS[table];
    // The first use of keys creates the tables; until then, the rights to write into them may be missing.
    if (isForAccount) add(table, ['SELECT', ...(exists(table) ? use : [])], []);
    if (isForSchedule && ofSchedule !== undefined) {
      add(table, ['SELECT', ...(exists(table) ? ofSchedule.use : [])], []);
    }
  }
  return wanted;
}

/** @returns whether nothing is missing */
function reportMissing(found: Grants, wanted: Wanted, { error }: Findings): boolean {
  let isComplete = true;
  for (const [table, { needed }] of wanted) {
    const missing = [...needed].filter((right) => !hasRight(table, right, found));
    if (missing.length === 0) continue;
    isComplete = false;
    error(
      `${found.user} lacks ${missing.join(', ')} on ${table}.`,
      `Run as an administrator: GRANT ${missing.join(', ')} ON ${found.schema}.${table} TO ${found.user};`,
    );
  }
  return isComplete;
}

/** @returns whether the user may see the definitions of all views of which a run must notice a new one */
async function reportHiddenViews(
  database: Database,
  existing: ReadonlyMap<string, ReadonlySet<string>>,
  programs: readonly Program[],
  { warn }: Findings,
): Promise<boolean> {
  // Other runs read all rows anyway.
  const isTimed = TIMED_TABLES.every((table) => existing.get(table)?.has(UPDATED_AT));
  if (!isTimed || !programs.includes('schedule')) return true;
  const hidden = await findHiddenViews(database, TIMED_TABLES);
  if (hidden === undefined) return true;
  warn(
    `${hidden.fault}. A new definition would go unnoticed, so each run reads all rows.`,
    `Run as an administrator: ${hidden.grant};`,
  );
  return false;
}

/** @returns whether nothing is superfluous */
function reportExcess(found: Grants, wanted: Wanted, { warn }: Findings): boolean {
  const excess = found.all.filter((grant) => isExcess(grant, wanted));
  const byPlace = Map.groupBy(excess, ({ place }) => place);
  for (const [place, ofPlace] of byPlace) {
    const rights = listRights(ofPlace);
    const shown = rights.slice(0, MOST_LISTED).join(', ');
    const more =
      rights.length > MOST_LISTED ? ` and ${rights.length - MOST_LISTED} more rights` : '';
    warn(
      `${found.user} has rights on ${place} that it does not need: ${shown}${more}.${consequenceOf(ofPlace)}`,
      `Run as an administrator: REVOKE ${rights.length > MOST_LISTED ? 'ALL PRIVILEGES, GRANT OPTION' : rights.join(', ')}${rights.length > MOST_LISTED ? '' : ` ON ${place}`} FROM ${found.user}; then grant what README.md and OPERATIONS.md list.`,
    );
  }
  return byPlace.size === 0;
}

function listRights(grants: readonly Grant[]): string[] {
  const rights = grants.flatMap(({ right, isGrantable }) => [
    ...(right === 'USAGE' ? [] : [right]),
    ...(isGrantable ? ['GRANT OPTION'] : []),
  ]);
  return [...new Set(rights)];
}

/** A right on a table is superfluous unless a program needs it there; elsewhere, only reading is needed. */
function isExcess({ right, on, isGrantable }: Grant, wanted: Wanted): boolean {
  if (isGrantable) return true;
  if (HARMLESS.includes(right)) return false;
  if (on === '*.*') return true;
  // A view that runs with the rights of its user needs to read tables of another database.
  if (on === '*' || on === 'elsewhere') return right !== 'SELECT';
  const known = wanted.get(on.table);
  // What the other tables are for is not known here, but nothing needs to write into them.
  if (known === undefined) return right !== 'SELECT';
  return right !== 'SELECT' && !known.needed.has(right) && !known.allowed.has(right);
}

function consequenceOf(grants: readonly Grant[]): string {
  const changing = grants.filter(({ right }) => CHANGING.test(right));
  if (changing.some(({ on }) => isCatalogue(on))) {
    return ' A mistake or an attacker could change the catalogue.';
  }
  return changing.some(({ on }) => on === 'elsewhere')
    ? ' If your views read these tables, a mistake or an attacker could change the catalogue.'
    : '';
}

function isCatalogue(on: Grant['on']): boolean {
  return on === '*' || on === '*.*' || (typeof on === 'object' && on.table in CATALOGUE_TABLES);
}
