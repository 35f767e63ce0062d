/**
 * The tables that `keys/` uses: `accounts`, which is usually a view of the site's accounts, and the
 * tables that `keys/` creates. Times are in UTC. Invariant: the database refuses to change, replace or
 * remove a row of `key_events`, the history of keys.
 */
import type { Database } from '../../lib/database/database.ts';
import { createTables, type Table, type Tables } from '../../lib/database/tables.ts';

export const ACCOUNTS_TABLE = {
  accounts: {
    columns: {
      id: 'BIGINT UNSIGNED PRIMARY KEY',
      email: 'VARCHAR(320) NOT NULL',
      name: 'VARCHAR(255) NOT NULL',
      // user or moderator
      role: "VARCHAR(16) NOT NULL DEFAULT 'user'",
    },
  },
} as const satisfies Tables;

/** All tables that `keys/` writes into. */
export const KEYS_TABLES = {
  api_keys: {
    columns: {
      id: 'BIGINT UNSIGNED PRIMARY KEY AUTO_INCREMENT',
      // NULL if an operator issued the key at the command line.
      account_id: 'BIGINT UNSIGNED NULL',
      purpose: 'TEXT NOT NULL',
      website_url: 'VARCHAR(2000) NOT NULL',
      // One of KEY_STATES (lib/format/api-key.ts).
      state: 'VARCHAR(16) NOT NULL',
      // Why a moderator or operator rejected or revoked the key.
      reason: 'TEXT NULL',
      limit_per_minute: 'INT UNSIGNED NOT NULL DEFAULT 120',
      // SHA-256 in hexadecimal; NULL until the owner has revealed the key.
      key_hash: 'CHAR(64) NULL',
      key_prefix: 'VARCHAR(16) NULL',
      requested_at: 'DATETIME NOT NULL',
      reviewed_at: 'DATETIME NULL',
      reviewed_by: 'BIGINT UNSIGNED NULL',
      revealed_at: 'DATETIME NULL',
      revoked_at: 'DATETIME NULL',
      last_used_at: 'DATETIME NULL',
      // What the owner calls the key; NULL if the owner has given it no name.
      name: 'VARCHAR(100) NULL',
      // The key for which the request asks a higher limit; NULL if it asks for a key.
      limit_of: 'BIGINT UNSIGNED NULL',
    },
    unique: ['key_hash'],
    keys: ['account_id', 'account_id, state', 'state'],
  },
  // The key that a rotation has replaced, if it works for some time beside the new one.
  old_keys: {
    columns: {
      key_id: 'BIGINT UNSIGNED PRIMARY KEY',
      key_hash: 'CHAR(64) NOT NULL',
      key_prefix: 'VARCHAR(16) NOT NULL',
      ends_at: 'DATETIME NOT NULL',
    },
  },
  // Who did what to which key. Triggers refuse to change or remove a row.
  key_events: {
    columns: {
      id: 'BIGINT UNSIGNED PRIMARY KEY AUTO_INCREMENT',
      key_id: 'BIGINT UNSIGNED NOT NULL',
      at: 'DATETIME NOT NULL',
      // NULL for an operator at the command line.
      actor_id: 'BIGINT UNSIGNED NULL',
      action: 'VARCHAR(16) NOT NULL',
      reason: 'TEXT NULL',
      limit_per_minute: 'INT UNSIGNED NULL',
    },
    keys: ['key_id, at', 'actor_id, at'],
  },
  // What each key has used, by day in UTC and run of a proxy. `cover-catalogue schedule` writes the rows
  // (keys/export/import-key-usage.ts), and removes old ones.
  key_usage: {
    columns: {
      key_id: 'BIGINT UNSIGNED NOT NULL',
      day: 'DATE NOT NULL',
      // The random name of the run: 16 hex digits.
      run: 'CHAR(16) NOT NULL',
      requests: 'BIGINT UNSIGNED NOT NULL',
      // Not among the requests.
      refused: 'BIGINT UNSIGNED NOT NULL',
    },
    unique: ['key_id, day, run'],
    keys: ['day'],
  },
  // The account lock: a transaction locks the row of its account, so that requests of one account are
  // handled one at a time. `turns` counts the locks. The names are those of released versions.
  request_turns: {
    columns: {
      account_id: 'BIGINT UNSIGNED PRIMARY KEY',
      turns: 'BIGINT UNSIGNED NOT NULL',
    },
  },
  mail_outbox: {
    columns: {
      id: 'BIGINT UNSIGNED PRIMARY KEY AUTO_INCREMENT',
      key_id: 'BIGINT UNSIGNED NULL',
      recipient: 'VARCHAR(320) NOT NULL',
      subject: 'VARCHAR(255) NOT NULL',
      // The text, or for a mail with a sign-in link, a note in JSON. Emptied when the mail was sent or
      // has expired.
      body: 'TEXT NOT NULL',
      created_at: 'DATETIME NOT NULL',
      // NULL if the mail never expires.
      expires_at: 'DATETIME NULL',
      attempts: 'INT UNSIGNED NOT NULL DEFAULT 0',
      // NULL if the mail was sent, has expired or was given up.
      next_attempt_at: 'DATETIME NULL',
      sent_at: 'DATETIME NULL',
      last_error: 'TEXT NULL',
    },
    keys: ['next_attempt_at', 'sent_at'],
  },
  sign_in_links: {
    columns: {
      // SHA-256 in hexadecimal.
      token_hash: 'CHAR(64) PRIMARY KEY',
      account_id: 'BIGINT UNSIGNED NOT NULL',
      expires_at: 'DATETIME NOT NULL',
      used_at: 'DATETIME NULL',
    },
    keys: ['account_id', 'expires_at'],
  },
  sessions: {
    columns: {
      // SHA-256 in hexadecimal.
      token_hash: 'CHAR(64) PRIMARY KEY',
      account_id: 'BIGINT UNSIGNED NOT NULL',
      created_at: 'DATETIME NOT NULL',
      expires_at: 'DATETIME NOT NULL',
      // Of the forms of earlier versions.
      csrf_secret: 'CHAR(43) NOT NULL',
    },
    keys: ['expires_at'],
  },
} as const satisfies Tables;

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
 * Creates the tables of {@link KEYS_TABLES} that do not exist, the columns that tables of earlier versions
 * lack, and the triggers that protect the history.
 * @throws Error that says which table or trigger cannot be created, and the fix
 */
export async function createKeysTables(database: Database): Promise<void> {
  // Existing tables are skipped: the database user may not have the right to create tables.
  const found = await database.columns();
  for (const [name, table] of Object.entries(KEYS_TABLES)) {
    const columns = found.get(name);
    try {
      if (columns === undefined) await createTables(database, { [name]: table });
      else await addColumns(database, name, table, columns);
    } catch (cause) {
      throw new Error(
        `The table ${name} cannot be ${columns === undefined ? 'created' : 'extended'}: ${(cause as Error).message}. Give the user of DATABASE_URL the rights that operations/from-your-site.md lists.`,
        { cause },
      );
    }
  }
  await protectHistory(database);
}

/** Adds the columns that a table lacks, if its rows can be without a value. */
async function addColumns(
  database: Database,
  name: string,
  { columns }: Table,
  found: ReadonlySet<string>,
): Promise<void> {
  for (const [column, definition] of Object.entries(columns)) {
    if (found.has(column) || !/(?<!NOT) NULL$/.test(definition)) continue;
    const sql = `ALTER TABLE ${name} ADD COLUMN ${column} ${definition}`;
    await database.run(sql).catch(async (error) => {
      // Another program may have added it in the meantime.
      if (!(await database.columns()).get(name)?.has(column)) throw error;
    });
  }
}

/**
 * Creates the triggers that do not exist. MySQL shows a user without the right TRIGGER no triggers, also if an
 * administrator has created them. So if the user cannot create them, only an attempt shows whether the history
 * can be changed.
 * @throws Error that names the missing right, if it can be changed
 */
async function protectHistory(database: Database): Promise<void> {
  const { kind } = database;
  const found = await triggersOf(database);
  for (const [name, event] of Object.entries(TRIGGER_EVENTS[kind])) {
    if (found.has(name)) continue;
    try {
      await database.run(`CREATE TRIGGER ${name} ${event} ${ACTIONS[kind]}`);
    } catch (cause) {
      // Another program may have created the trigger in the meantime.
      if ((await triggersOf(database)).has(name)) continue;
      if (!(await canRewrite(database))) return;
      throw new Error(
        `The trigger ${name}, which protects the history of keys, cannot be created: ${(cause as Error).message}. GRANT TRIGGER ON key_events to the user of DATABASE_URL; if the server writes a binary log, also set log_bin_trust_function_creators = 1.`,
        { cause },
      );
    }
  }
}

/** Whether the database user can change or remove an event. It adds one, tries both, and undoes everything. */
async function canRewrite(database: Database): Promise<boolean> {
  const undone = new Error('Nothing stays of the attempt.');
  const isRefused = [false, false];
  const attempt = database.transaction(async (writer) => {
    // Triggers fire only for rows. No key has the id 0. Who may add none needs the rights for the rest.
    const added = "INSERT INTO key_events (key_id, at, action) VALUES (0, '2000-01-01', '')";
    await writer.run(added).catch(() => {});
    const attempts = ['UPDATE key_events SET key_id = 0', 'DELETE FROM key_events'];
    for (const [index, sql] of attempts.entries()) {
      await writer.run(`${sql} WHERE key_id = 0`).catch(() => {
        isRefused[index] = true;
      });
    }
    throw undone;
  });
  await attempt.catch((error) => {
    if (error !== undone) throw error;
  });
  return isRefused.includes(false);
}

/** Whether all triggers that protect the history exist and the database user may see them. */
export async function hasHistoryTriggers(database: Database): Promise<boolean> {
  const found = await triggersOf(database);
  return Object.keys(TRIGGER_EVENTS[database.kind]).every((name) => found.has(name));
}

async function triggersOf(database: Database): Promise<Set<string>> {
  const rows = await database.rows(
    database.kind === 'sqlite'
      ? "SELECT name FROM sqlite_schema WHERE type = 'trigger'"
      : 'SELECT trigger_name FROM information_schema.triggers WHERE trigger_schema = DATABASE()',
  );
  return new Set(rows.map(([name]) => String(name).toLowerCase()));
}
