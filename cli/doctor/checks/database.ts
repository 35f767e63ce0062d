/** The database: whether it can be opened, sample records from it, and the tables of API keys. */
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { isFrontType } from '../../../find/names/fronts.ts';
import { generate } from '../../../generator/generate.ts';
import { countNotPublic } from '../../../generator/read/read-catalogue.ts';
import { countsText, warningText } from '../../../generator/report/report.ts';
import { findReadUpTo, readNow, recentRowsQuery } from '../../../generator/reuse/recent-rows.ts';
import { settingsOf } from '../../../generator/rows/settings.ts';
import { missingFronts } from '../../../generator/warnings.ts';
import { KeysLostError, readKeys } from '../../../keys/export/export-keys.ts';
import { hasAccounts, viewsOf } from '../../../keys/tables/accounts.ts';
import { KEYS_TABLES } from '../../../keys/tables/schema.ts';
import { type Database, selectCount, type Value } from '../../../lib/database/database.ts';
import { openDatabase } from '../../../lib/database/open.ts';
import { checkCatalogue, TIMED_TABLES, UPDATED_AT } from '../../../lib/database/schema.ts';
import { checkTables } from '../../../lib/database/tables.ts';
import { KEYS_FILE } from '../../../lib/format/layout.ts';
import { ONLY_CURRENT } from '../../../lib/generations/prune.ts';
import { ConfigurationError } from '../../../lib/program/environment/environment.ts';
import { messageOf } from '../../../lib/program/failure.ts';
import { parseExactly, printable, printableJson } from '../../../lib/program/printable.ts';
import { SILENT } from '../../../lib/program/progress.ts';
import { readStoredBody } from '../../../proxy/read-stored-body.ts';
import {
  type Check,
  type CheckContext,
  type Findings,
  requireDatabase,
  requireValue,
  type SampledAddresses,
  SkippedError,
} from '../check.ts';

const SEE_CHANGES = 'See "Changes within seconds" in operations/database.md.';
const TIMEOUTS = { connectSeconds: 3, stallSeconds: 8 };
/** How many games are shown, and how many are read, so that the check is quick on any catalogue. */
const GAMES = 3;
const MOST_GAMES = 100;

export const database: Check = {
  name: 'database',
  programs: ['schedule', 'account'],
  fix: 'Try the same address: mariadb --host=HOST --port=PORT --user=USER --password NAME. Then correct DATABASE_URL in .env.',
  async run(context, { ok, warn, error }) {
    const url = requireValue(context, 'DATABASE_URL');
    const opened = await openDatabase(url, TIMEOUTS).catch((cause) => {
      // The command of `fix` asks a server: it does not help with a file, or with an address that cannot be parsed.
      if (!url.startsWith('sqlite:') && !(cause instanceof ConfigurationError)) throw cause;
      error(messageOf(cause), 'Correct DATABASE_URL in .env.');
    });
    if (opened === undefined) return;
    context.database = opened;
    if (opened.kind === 'mysql') {
      const [row = []] = await opened.rows('SELECT VERSION(), CURRENT_USER(), DATABASE()');
      ok(`The server, version ${row[0]}, is open, as ${row[1]} in ${row[2]}.`);
      const settings = await settingsNotUsed(opened);
      ok(`The programs do not use these settings of the server: ${settings.join(', ')}.`);
      return;
    }
    const file = url.slice('sqlite:'.length);
    const mode = statSync(file).mode & 0o777;
    if ((mode & 0o077) === 0) ok(`The SQLite file ${file} is open.`);
    else {
      warn(
        `Other users of this machine may use ${file}, which has the mode ${mode.toString(8)}. It holds the addresses of accounts.`,
        `Run: chmod 600 ${file}*`,
      );
    }
  },
};

/** The settings of the server, such as "autocommit = OFF", in whose place sessions of the programs have their own. */
async function settingsNotUsed(server: Database): Promise<string[]> {
  const own = new Map((await server.rows('SHOW SESSION VARIABLES')) as [Value, Value][]);
  const settings = await server.rows('SHOW GLOBAL VARIABLES');
  return settings
    .filter(([name = '', value]) => (name === 'init_connect' ? value : own.get(name) !== value))
    .map(([name, value]) => `${name} = ${value}`);
}

/**
 * Some games as the API would serve them. The generator makes a generation of the first games in a temporary folder,
 * and the code of the proxy reads it, so the records are exactly those of the API.
 */
export const sample: Check = {
  name: 'sample records',
  programs: ['schedule'],
  fix: 'Create or change the view or table that the message names, as README.md shows, then run: cover-catalogue generate --dry-run',
  async run(context, findings) {
    const { ok, warn, error } = findings;
    const source = requireDatabase(context);
    const settings = settingsOf((variable) => requireValue(context, variable));
    await checkCatalogue(source);
    await checkStatuses(source, findings);
    await checkFrontTypes(source, requireValue(context, 'FRONT_TYPES'), findings);
    const lastId = await findLastId(source);
    const part = { games: `id <= ${lastId}`, covers: `game_id <= ${lastId}` };
    const folder = mkdtempSync(path.join(tmpdir(), 'cover-catalogue-doctor-'));
    try {
      const options = { snapshotsDir: folder, settings, warnings: [], part };
      const run = { ...options, keep: ONLY_CURRENT, isDryRun: false, isForced: true };
      const { id = '', leftOut, report } = await generate(source, run, SILENT);
      for (const line of leftOut) {
        warn(`Of the sample, rows would be left out: ${line}.`, 'Correct the rows or the view.');
      }
      for (const warning of report.warnings) {
        warn(
          `${warningText(warning)}.`,
          'See "Recipes for views" in operations/database.md, and operations/publishing.md.',
        );
      }
      const body = await readStoredBody(folder, id, `/search?include=cover&per_page=${MOST_GAMES}`);
      // Ids beyond 2^53 keep their digits.
      const { data } = parseExactly(body) as {
        data: readonly { cover: unknown; url: string }[];
      };
      if (data.length === 0) {
        const text = `The API would serve none of the first ${MOST_GAMES} games.`;
        error(text, 'Correct the rows or the view, as the warnings above say.');
        return;
      }
      const [covered = [], others = []] = [true, false].map((isCovered) =>
        data.filter(({ cover }) => (cover !== null) === isCovered),
      );
      const shown = [...covered, ...others].slice(0, GAMES);
      ok('The API would send these records. Compare them with your site:', shown);
      context.addresses = await readAddresses(folder, id, shown[0]?.url);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

/** @param game the address of the page of a game */
async function readAddresses(
  folder: string,
  id: string,
  game: string | undefined,
): Promise<SampledAddresses> {
  const read = async (target: string) =>
    JSON.parse(String(await readStoredBody(folder, id, target)));
  const platforms: { game_count: number; url: string }[] = (await read('/platforms')).data;
  const covers: { files: { url: string }[] }[] = (await read('/covers/recent')).data;
  return {
    platform: platforms.find(({ game_count }) => game_count > 0)?.url,
    game,
    image: covers.flatMap(({ files }) => files)[0]?.url,
  };
}

async function checkStatuses(source: Database, { error }: Findings): Promise<void> {
  // HEX: the collation of the column may take "Approved" for "approved".
  const isApproved = "status = 'approved' AND HEX(status) = HEX('approved')";
  const approved = await source.rows(`SELECT 1 FROM covers WHERE ${isApproved} LIMIT 1`);
  if (approved.length > 0) return;
  const statuses = (await countNotPublic(source)).map(
    ([status, covers]) => [status === null ? 'NULL' : printableJson(status), covers] as const,
  );
  error(
    `No cover has the status "approved", so the API would serve none. Statuses in the table: ${countsText(statuses) || 'none'}.`,
    "Translate the statuses of your site in a view of covers: CASE status WHEN … THEN 'approved' … END.",
  );
}

async function checkFrontTypes(
  source: Database,
  frontTypes: readonly string[],
  { warn }: Findings,
): Promise<void> {
  const approved = "FROM covers WHERE status = 'approved'";
  const marks = frontTypes.map(() => '?').join(', ');
  const lower = frontTypes.map((type) => type.toLowerCase());
  // Nearly always there is one, and the first rows tell.
  const one = await source.rows(
    `SELECT 1 ${approved} AND LOWER(type) IN (${marks}) LIMIT 1`,
    lower,
  );
  if (one.length > 0) return;
  const counts = await source.rows(
    `SELECT type, COUNT(*) ${approved} GROUP BY type ORDER BY COUNT(*) DESC, type`,
  );
  const types = counts.map(
    ([type = null, covers]) =>
      [type === null ? null : printable(String(type)), Number(covers)] as const,
  );
  if (types.length === 0 || types.some(([type]) => isFrontType(frontTypes, type))) return;
  warn(
    `${missingFronts(frontTypes, types)}.`,
    'Set FRONT_TYPES for the generator, such as FRONT_TYPES=frente; the best first, if there are several.',
  );
}

/** The id of the last of the first games, in SQL. */
async function findLastId(source: Database): Promise<string> {
  const first = `SELECT id FROM games ORDER BY id LIMIT ${MOST_GAMES}`;
  const [[id = null] = []] = await source.rows(`SELECT MAX(id) FROM (${first}) AS first_games`);
  if (id === null)
    throw new SkippedError('The table games has no rows.', 'Add games, or fix the view.');
  if (!/^\d+$/.test(String(id)))
    throw new Error(`The ids of games are not unsigned whole numbers: ${printableJson(id)}.`);
  // A text stays one, so that a database compares it as it orders it.
  return typeof id === 'string' ? `'${id}'` : String(id);
}

/** Fewer rows are read as quickly without an index. */
const FEWEST_ROWS = 3_000;

/** Whether polls and runs find changes through indexes on `updated_at`. */
export const changes: Check = {
  name: 'changes within seconds',
  programs: ['schedule'],
  fix: SEE_CHANGES,
  async run(context, { ok, warn }) {
    const source = requireDatabase(context);
    const { withoutUpdatedAt } = await checkCatalogue(source);
    if (withoutUpdatedAt.length > 0) {
      const names = withoutUpdatedAt.join(', ');
      ok(`Changes are published at the times of GENERATE_CRON: no ${UPDATED_AT} in ${names}.`);
      return;
    }
    const readUpTo = await findReadUpTo(source, await readNow(source));
    const views = await viewsOf(source);
    let isIndexed = true;
    for (const table of TIMED_TABLES) {
      const rows = await selectCount(source, `(SELECT 1 FROM ${table} LIMIT ${FEWEST_ROWS}) AS t`);
      if (rows < FEWEST_ROWS) continue;
      if (await source.usesIndex(recentRowsQuery(table), [readUpTo[table].since])) continue;
      isIndexed = false;
      const create = (name: string) =>
        `CREATE INDEX ${table}_${UPDATED_AT} ON ${name} (${UPDATED_AT});`;
      if (!views.has(table))
        warn(`${table} has no index on ${UPDATED_AT}: takedowns take longer.`, create(table));
      else {
        const text = `The view ${table} uses no index on ${UPDATED_AT}: takedowns take longer.`;
        warn(
          text,
          `${create('its table')} If it has one, the view computes ${UPDATED_AT}, or groups or joins rows. ${SEE_CHANGES}`,
        );
      }
    }
    if (isIndexed) ok(`Changes are found through indexes on ${UPDATED_AT}, or among few rows.`);
  },
};

/** No fix creates tables while keys.json has keys: the backup must be restored then. */
export const keys: Check = {
  name: 'tables of API keys',
  programs: ['schedule', 'account'],
  fix: 'Run as a user with all rights: cover-catalogue keys list. It creates what is missing.',
  async run(context, findings) {
    const { ok, warn, error } = findings;
    const source = requireDatabase(context);
    const snapshotsDir = requireValue(context, 'SNAPSHOTS_DIR');
    const file = path.join(snapshotsDir, KEYS_FILE);
    if (!(await source.columns()).has('api_keys')) {
      if (existsSync(file)) {
        error(
          `The tables of API keys are gone, or the user may not see them. The keys in ${file} still work.`,
          'Grant the rights on them, or restore the backup: see operations/runbooks/restore.md.',
        );
        return;
      }
      throw new SkippedError(
        'There are no tables of API keys yet: the API would answer 503 "No API keys yet".',
        'Run "cover-catalogue keys list", which creates them, and then "cover-catalogue keys issue".',
      );
    }
    await checkTables(source, KEYS_TABLES);
    ok('The tables of API keys exist, with all columns.');
    await readKeys(source, snapshotsDir).catch((cause: Error) => {
      if (!(cause instanceof KeysLostError)) throw cause;
      error(
        `${cause.lost} of the keys in ${file} are not in the table api_keys. Nothing is exported: no key can be revoked.`,
        'Restore the backup: see operations/runbooks/restore.md. If the table is right, run "cover-catalogue keys export --force".',
      );
    });
    if (!context.programs.includes('account')) return;
    if (!(await hasAccounts(source))) {
      error(
        'A table or view "accounts" with the columns id, email, name and role does not exist or may not be read: nobody can sign in.',
        `GRANT SELECT on it, create a view of your site's accounts, or run "cover-catalogue keys account add" with the rights on accounts that operations/keys.md lists.`,
      );
      return;
    }
    await checkAddresses(source, context, findings);
    const moderators = await selectCount(source, "accounts WHERE role = 'moderator'");
    if (moderators > 0) ok(`Accounts that are moderators: ${moderators}.`);
    else {
      warn(
        'No account is a moderator: nobody can review requests on the pages.',
        'Run "cover-catalogue keys account add" with --role moderator, set the role in your view, or review at the command line: see "Without a moderator" in operations/keys.md.',
      );
    }
  },
};

/** An address of two accounts signs in neither of them. Addresses in another case count as different. */
async function checkAddresses(
  source: Database,
  { values: { SITE_JWT_SECRET, SITE_JWKS } }: CheckContext,
  { warn }: Findings,
): Promise<void> {
  if (SITE_JWT_SECRET !== '' || SITE_JWKS !== '') return;
  const repeated = `(SELECT MIN(id) AS one, MAX(id) AS other FROM accounts WHERE email <> ''
    GROUP BY HEX(email) HAVING COUNT(*) > 1) repeated`;
  const count = await selectCount(source, repeated);
  if (count === 0) return;
  const examples = await source.rows(`SELECT one, other FROM ${repeated} ORDER BY one LIMIT 3`);
  const pairs = examples.map(([one, other]) => `${one} and ${other}`).join('; ');
  warn(
    `E-mail addresses that belong to more than one account: ${count}. These accounts cannot sign in by link, such as those with the ids ${pairs}.`,
    'Give each account an address of its own, or keep one of them in your view.',
  );
}
