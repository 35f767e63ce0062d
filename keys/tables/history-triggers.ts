/**
 * Protects the history of keys. With the triggers created here, the database refuses to change,
 * replace or remove any row of `key_events`.
 */
import type { Database } from '../../database/database.ts';

const REFUSAL = 'The history of keys cannot be rewritten.';

/** When each trigger fires. In SQLite, REPLACE removes a row without firing the trigger on DELETE. */
const TRIGGER_EVENTS = {
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
 * Creates the triggers that do not exist. If the database user may neither create triggers nor change
 * or remove rows, the triggers are not needed, and their absence is no error: MySQL does not show such
 * a user the triggers of an administrator.
 * @throws Error that names the missing right
 */
export async function protectHistory(database: Database): Promise<void> {
  const { kind } = database;
  const found = await triggersOf(database);
  for (const [name, event] of Object.entries(TRIGGER_EVENTS[kind])) {
    if (found.has(name)) continue;
    try {
      await database.run(`CREATE TRIGGER ${name} ${event} ${ACTIONS[kind]}`);
    } catch (cause) {
      // Another program may have created the trigger in the meantime.
      if ((await triggersOf(database)).has(name)) continue;
      if (await lacksRights(database)) return;
      throw new Error(
        `The trigger ${name}, which protects the history of keys, cannot be created: ${(cause as Error).message}. GRANT TRIGGER ON key_events to the user of DATABASE_URL; if the server writes a binary log, also set log_bin_trust_function_creators = 1.`,
        { cause },
      );
    }
  }
}

/** The triggers that the database does not have, or does not show to this user. */
export async function findMissingTriggers(database: Database): Promise<string[]> {
  const found = await triggersOf(database);
  return Object.keys(TRIGGER_EVENTS[database.kind]).filter((name) => !found.has(name));
}

/** Whether the database user may neither change nor remove rows, even without triggers. */
async function lacksRights(database: Database): Promise<boolean> {
  for (const sql of ['UPDATE key_events SET id = id', 'DELETE FROM key_events']) {
    try {
      await database.run(`${sql} WHERE 1 = 0`);
      return false;
    } catch {
      // The user lacks this right; check the other one.
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
