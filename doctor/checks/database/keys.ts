/**
 * The tables of API keys: whether they exist, with all columns, whether they agree with keys.json, and
 * whether the history is protected. No fix may empty keys.json while clients use its keys.
 */
import path from 'node:path';
import type { Database } from '../../../database/database.ts';
import { checkTables } from '../../../database/tables.ts';
import { type KeyEntry, LARGEST_KEYS_FILE, parseKeys } from '../../../format/keys-file.ts';
import { KEYS_FILE } from '../../../format/layout.ts';
import { readKeys } from '../../../generator/keys/export-keys.ts';
import { hasAccounts } from '../../../keys/tables/accounts.ts';
import { findMissingTriggers, KEYS_TABLES } from '../../../keys/tables/schema.ts';
import { readBoundedFileSync } from '../../../program/files/bounded-file.ts';
import { type Check, type Findings, requireValue, type Scene } from '../../findings/check.ts';

const RESTORE = 'Stop schedule, then restore the backup: see operations/runbooks/database-lost.md.';
const SEE = 'See "Tables of API keys" in OPERATIONS.md.';

export const keys: Check = {
  name: 'tables of API keys',
  programs: ['schedule', 'account'],
  async run(scene, findings) {
    const { ok, warn, error } = findings;
    const database = await scene.database();
    const found = await database.columns();
    if (!found.has('api_keys')) {
      reportNoTables(scene, findings);
      return;
    }
    try {
      await checkTables(database, KEYS_TABLES);
      ok(`These tables exist, with all columns: ${Object.keys(KEYS_TABLES).join(', ')}.`);
      await compareWithFile(scene, database, findings);
    } catch (cause) {
      error(
        (cause as Error).message,
        `"cover-catalogue keys list" creates missing tables, if the user may. ${SEE}`,
      );
    }
    await checkTriggers(database, findings);
    const accounts = await hasAccounts(database);
    if (scene.programs.includes('account') && !accounts) {
      error(
        'A table or view "accounts" with the columns id, email, name and role does not exist or may not be read: nobody can sign in.',
        `If it exists, GRANT SELECT on it to the user of DATABASE_URL. Otherwise create a view of your site's accounts, or run "cover-catalogue keys account add". ${SEE}`,
      );
    } else if (accounts) {
      const [[moderators] = []] = await database.rows(
        "SELECT COUNT(*) FROM accounts WHERE role = 'moderator'",
      );
      if (Number(moderators) > 0) ok(`Accounts that are moderators: ${moderators}.`);
      else {
        warn(
          'No account is a moderator: nobody can review requests on the pages.',
          'Run "cover-catalogue keys account add EMAIL --name NAME --role moderator", or set the role in your view.',
        );
      }
    }
  },
};

/** Without keys in keys.json, nothing is lost, and the tables can be created. */
function reportNoTables(scene: Scene, { warn, error, skip }: Findings): void {
  let inFile: readonly KeyEntry[] | undefined;
  try {
    inFile = keysInFile(scene);
  } catch (cause) {
    warn(
      `There are no tables of API keys, and ${KEYS_FILE} cannot be read: ${(cause as Error).message}`,
      `Run the doctor as a user who may read ${KEYS_FILE}. If keys were ever issued: ${RESTORE}`,
    );
    return;
  }
  if (inFile !== undefined && inFile.length > 0) {
    error(
      `The tables of API keys are gone, but ${countWorking(inFile)} keys of ${KEYS_FILE} still work.`,
      `${RESTORE} If the tables do exist, the user of DATABASE_URL may not see them: grant its rights. ${SEE}`,
    );
    return;
  }
  skip(
    'There are no tables of API keys yet: the API would answer 503 "No API keys yet".',
    'Run "cover-catalogue keys list", which creates them, and then "cover-catalogue keys issue".',
  );
}

/** Tables that were created again after a loss are empty, and their export would stop every key. */
async function compareWithFile(
  scene: Scene,
  database: Database,
  { warn, error }: Findings,
): Promise<void> {
  let inFile: readonly KeyEntry[] | undefined;
  try {
    inFile = keysInFile(scene);
  } catch (cause) {
    warn(
      `${KEYS_FILE} cannot be read: ${(cause as Error).message}`,
      'Run the doctor as a user who may read it. If it is damaged, "cover-catalogue schedule" replaces it.',
    );
    return;
  }
  const inTable = parseKeys(await readKeys(database));
  const [working, expected] = [countWorking(inFile ?? []), countWorking(inTable)];
  if (inTable.length === 0 && working > 0) {
    error(
      `The table api_keys has no keys, but ${working} keys of ${KEYS_FILE} still work.`,
      RESTORE,
    );
  }
  // Without the schedule, this machine may have no keys.json.
  const isExpected = inFile !== undefined || scene.programs.includes('schedule');
  if (isExpected && expected > 0 && working === 0) {
    warn(
      `The table api_keys has ${expected} keys that should work, but ${KEYS_FILE} has none: the API refuses them.`,
      'Start "cover-catalogue schedule", which exports the keys, with the same SNAPSHOTS_DIR.',
    );
  }
}

/**
 * @returns undefined if there is no keys.json
 * @throws Error if it cannot be read or is damaged
 */
function keysInFile(scene: Scene): readonly KeyEntry[] | undefined {
  const file = path.join(requireValue(scene, 'SNAPSHOTS_DIR'), KEYS_FILE);
  try {
    return parseKeys(readBoundedFileSync(file, LARGEST_KEYS_FILE).toString('utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function countWorking(keys: readonly KeyEntry[]): number {
  return keys.filter(({ state }) => state === 'approved').length;
}

async function checkTriggers(database: Database, { warn }: Findings): Promise<void> {
  const missing = await findMissingTriggers(database);
  if (missing.length === 0) return;
  const right = database.kind === 'sqlite' ? '' : 'GRANT TRIGGER ON key_events to the user. ';
  warn(
    `These triggers, which protect the history of keys, are missing, or the user may not see them: ${missing.join(', ')}.`,
    `${right}"cover-catalogue keys list" creates them.`,
  );
}
