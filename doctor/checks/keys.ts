/** The tables of API keys: whether they exist, with all columns, and whether the history is protected. */
import type { Database } from '../../database/database.ts';
import { checkTables } from '../../database/tables.ts';
import { hasAccounts } from '../../keys/tables/accounts.ts';
import { findMissingTriggers } from '../../keys/tables/history-triggers.ts';
import { KEYS_TABLES } from '../../keys/tables/schema.ts';
import type { Check, Findings } from '../findings/check.ts';

const SEE = 'See "Tables of API keys" in OPERATIONS.md.';

export const keys: Check = {
  name: 'tables of API keys',
  programs: ['schedule', 'account'],
  async run(scene, findings) {
    const { ok, warn, error, skip } = findings;
    const database = await scene.database();
    const found = await database.columns();
    if (!found.has('api_keys')) {
      skip(
        'There are no tables of API keys yet: the API would answer 503 "No API keys yet".',
        'Run "cover-catalogue keys list", which creates them, and then "cover-catalogue keys issue".',
      );
      return;
    }
    try {
      await checkTables(database, KEYS_TABLES);
      ok(`These tables exist, with all columns: ${Object.keys(KEYS_TABLES).join(', ')}.`);
    } catch (cause) {
      error(
        (cause as Error).message,
        `"cover-catalogue keys list" adds missing tables and columns, if the user may. ${SEE}`,
      );
    }
    await checkTriggers(database, findings);
    const accounts = await hasAccounts(database);
    if (scene.programs.includes('account') && !accounts) {
      error(
        'There is no table or view "accounts" with the columns id, email, name and role: nobody can sign in.',
        `Create a view of your site's accounts, or a table. ${SEE}`,
      );
    } else if (accounts) {
      const [[moderators] = []] = await database.rows(
        "SELECT COUNT(*) FROM accounts WHERE role = 'moderator'",
      );
      if (Number(moderators) > 0) ok(`Accounts that are moderators: ${moderators}.`);
      else {
        warn(
          'No account is a moderator: nobody can review requests on the pages.',
          'Run "cover-catalogue keys set-role ID moderator", or set the role in your view.',
        );
      }
    }
  },
};

async function checkTriggers(database: Database, { warn }: Findings): Promise<void> {
  const missing = await findMissingTriggers(database);
  if (missing.length === 0) return;
  const right = database.kind === 'sqlite' ? '' : 'GRANT TRIGGER ON key_events to the user. ';
  warn(
    `These triggers, which protect the history of keys, are missing, or the user may not see them: ${missing.join(', ')}.`,
    `${right}"cover-catalogue keys list" creates them.`,
  );
}
