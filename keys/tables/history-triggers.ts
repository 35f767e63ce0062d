/**
 * What keeps the table `key_events` a record: triggers by which the database itself refuses to
 * change, replace or remove a row of it, whoever asks.
 */
import type { Database } from '../../database/database.ts';

const REFUSAL = 'The history of keys cannot be rewritten.';

/** When each trigger fires. On SQLite, REPLACE removes a row without firing the trigger on DELETE. */
const MOMENTS = {
  sqlite: {
    key_events_update: 'BEFORE UPDATE ON key_events',
    key_events_delete: 'BEFORE DELETE ON key_events',
    key_events_replace:
      'BEFORE INSERT ON key_events WHEN EXISTS (SELECT 1 FROM key_events WHERE id = NEW.id)',
  },
  mysql: {
    key_events_update: 'BEFORE UPDATE ON key_events FOR EACH ROW',
    key_events_delete: 'BEFORE DELETE ON key_events FOR EACH ROW',
  },
};
const ACTIONS = {
  sqlite: `BEGIN SELECT RAISE(ABORT, '${REFUSAL}'); END`,
  mysql: `SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '${REFUSAL}'`,
};

/**
 * Makes the triggers that are absent. A user who may neither make triggers nor change or remove rows
 * needs none. MySQL would not even show such a user those of an administrator.
 * @throws Error naming the right that is missing
 */
export async function protectHistory(database: Database): Promise<void> {
  const { kind } = database;
  const found = await triggersOf(database);
  for (const [name, moment] of Object.entries(MOMENTS[kind])) {
    if (found.has(name)) continue;
    try {
      await database.run(`CREATE TRIGGER ${name} ${moment} ${ACTIONS[kind]}`);
    } catch (cause) {
      // Another program may have made it in the meantime.
      if ((await triggersOf(database)).has(name)) continue;
      if (await lacksRights(database)) return;
      throw new Error(
        `The trigger ${name}, which keeps the history of keys from being rewritten, cannot be made: ${(cause as Error).message}. GRANT TRIGGER ON key_events to the user of DATABASE_URL; where the server writes a binary log, it also needs log_bin_trust_function_creators = 1.`,
        { cause },
      );
    }
  }
}

/** Whether the user has no right to change and remove rows, with or without triggers. */
async function lacksRights(database: Database): Promise<boolean> {
  for (const sql of ['UPDATE key_events SET id = id', 'DELETE FROM key_events']) {
    try {
      await database.run(`${sql} WHERE 1 = 0`);
      return false;
    } catch {
      // Refused, as it should be.
    }
  }
  return true;
}

async function triggersOf(database: Database): Promise<Set<string>> {
  const rows = await database.rows(
    database.kind === 'sqlite'
      ? "SELECT name FROM sqlite_schema WHERE type = 'trigger'"
      : 'SELECT trigger_name FROM information_schema.triggers WHERE trigger_schema = DATABASE()',
  );
  return new Set(rows.map(([name]) => String(name).toLowerCase()));
}
