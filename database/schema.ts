/**
 * The tables of the catalogue: what a database must offer to be read (as tables or as views), and
 * the statements that make them for the demo, the tests and newcomers.
 *
 * The project writes into the tables of keys alone. Every time is UTC, "YYYY-MM-DD HH:MM:SS".
 */
import { findBrokenViews } from './broken-views.ts';
import type { Database } from './database.ts';
import { protectHistory } from './history-triggers.ts';

interface Table {
  /** Definitions by column, in order, in the SQL of MySQL; SQLite's are made from them. */
  readonly columns: Readonly<Record<string, string>>;
  readonly unique?: readonly string[];
  readonly keys?: readonly string[];
}

const TABLES = {
  platforms: {
    columns: {
      id: 'INT UNSIGNED PRIMARY KEY',
      slug: 'VARCHAR(191) NOT NULL',
      name: 'VARCHAR(255) NOT NULL',
    },
    unique: ['slug'],
  },
  games: {
    columns: {
      id: 'BIGINT UNSIGNED PRIMARY KEY',
      platform_id: 'INT UNSIGNED NOT NULL',
      slug: 'VARCHAR(191) NOT NULL',
      title: 'VARCHAR(500) NOT NULL',
      release_year: 'SMALLINT NULL',
      description: 'TEXT NULL',
      genres: 'VARCHAR(1000) NULL',
      developer: 'TEXT NULL',
      publisher: 'TEXT NULL',
    },
    unique: ['platform_id, slug'],
  },
  covers: {
    columns: {
      id: 'BIGINT UNSIGNED PRIMARY KEY',
      game_id: 'BIGINT UNSIGNED NOT NULL',
      region: 'VARCHAR(64) NULL',
      type: 'VARCHAR(64) NULL',
      // approved, pending or rejected; only the approved ones are ever published.
      status: 'VARCHAR(16) NOT NULL',
      approved_at: 'DATETIME NULL',
    },
    keys: ['game_id', 'status, approved_at'],
  },
  cover_files: {
    columns: {
      id: 'BIGINT UNSIGNED PRIMARY KEY',
      cover_id: 'BIGINT UNSIGNED NOT NULL',
      variant: 'VARCHAR(32) NULL',
      mime_type: 'VARCHAR(64) NULL',
      width: 'INT UNSIGNED NULL',
      height: 'INT UNSIGNED NULL',
      size_bytes: 'BIGINT UNSIGNED NULL',
      // Joined to FILES_URL, unless it is an http(s) address itself.
      path: 'VARCHAR(1000) NOT NULL',
    },
    keys: ['cover_id'],
  },
  accounts: {
    columns: {
      id: 'BIGINT UNSIGNED PRIMARY KEY',
      email: 'VARCHAR(320) NOT NULL',
      name: 'VARCHAR(255) NOT NULL',
      // user or moderator
      role: "VARCHAR(16) NOT NULL DEFAULT 'user'",
    },
  },
  api_keys: {
    columns: {
      id: 'BIGINT UNSIGNED PRIMARY KEY AUTO_INCREMENT',
      // NULL: issued from the command line.
      account_id: 'BIGINT UNSIGNED NULL',
      purpose: 'TEXT NOT NULL',
      website_url: 'VARCHAR(2000) NOT NULL',
      // pending, approved, rejected or revoked
      state: 'VARCHAR(16) NOT NULL',
      // Why it was rejected or revoked.
      reason: 'TEXT NULL',
      limit_per_minute: 'INT UNSIGNED NOT NULL DEFAULT 120',
      // SHA-256, hex; NULL until the owner has revealed the key.
      key_hash: 'CHAR(64) NULL',
      key_prefix: 'VARCHAR(16) NULL',
      requested_at: 'DATETIME NOT NULL',
      reviewed_at: 'DATETIME NULL',
      reviewed_by: 'BIGINT UNSIGNED NULL',
      revealed_at: 'DATETIME NULL',
      revoked_at: 'DATETIME NULL',
      last_used_on: 'DATE NULL',
    },
    unique: ['key_hash'],
    keys: ['account_id', 'state'],
  },
  // Who did what to which key. Triggers refuse to change or remove a row.
  key_events: {
    columns: {
      id: 'BIGINT UNSIGNED PRIMARY KEY AUTO_INCREMENT',
      key_id: 'BIGINT UNSIGNED NOT NULL',
      at: 'DATETIME NOT NULL',
      // NULL: an operator at the command line.
      actor_id: 'BIGINT UNSIGNED NULL',
      action: 'VARCHAR(16) NOT NULL',
      reason: 'TEXT NULL',
      limit_per_minute: 'INT UNSIGNED NULL',
    },
    keys: ['key_id'],
  },
  // A row for each account that ever asked for a key or a link: who locks it has the account's turn.
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
      // The text, emptied when the mail is sent or has expired. For a sign-in link, a note of its account.
      body: 'TEXT NOT NULL',
      created_at: 'DATETIME NOT NULL',
      // NULL: worth sending however late.
      expires_at: 'DATETIME NULL',
      attempts: 'INT UNSIGNED NOT NULL DEFAULT 0',
      // NULL: sent, or given up.
      next_attempt_at: 'DATETIME NULL',
      sent_at: 'DATETIME NULL',
      last_error: 'TEXT NULL',
    },
    keys: ['next_attempt_at'],
  },
  sign_in_links: {
    columns: {
      // SHA-256, hex.
      token_hash: 'CHAR(64) PRIMARY KEY',
      account_id: 'BIGINT UNSIGNED NOT NULL',
      expires_at: 'DATETIME NOT NULL',
      used_at: 'DATETIME NULL',
    },
    keys: ['account_id', 'expires_at'],
  },
  sessions: {
    columns: {
      // SHA-256, hex.
      token_hash: 'CHAR(64) PRIMARY KEY',
      account_id: 'BIGINT UNSIGNED NOT NULL',
      created_at: 'DATETIME NOT NULL',
      expires_at: 'DATETIME NOT NULL',
      csrf_secret: 'CHAR(43) NOT NULL',
    },
    keys: ['expires_at'],
  },
} as const satisfies Record<string, Table>;

export type TableName = keyof typeof TABLES;

/** What a generation is made from. */
export const CATALOGUE_TABLES = [
  'platforms',
  'games',
  'covers',
  'cover_files',
] as const satisfies readonly TableName[];

/** All that `keys/` writes into. */
export const KEYS_TABLES = [
  'api_keys',
  'key_events',
  'request_turns',
  'mail_outbox',
  'sign_in_links',
  'sessions',
] as const satisfies readonly TableName[];

/** The columns of a table, in order. */
export function columnNames(table: TableName): string[] {
  return Object.keys(TABLES[table].columns);
}

/**
 * Holds a database against the tables that a program is about to use.
 * @throws Error of one line naming every table and column that is missing and every broken view
 */
export async function checkSchema(
  database: Database,
  tables: readonly TableName[] = CATALOGUE_TABLES,
): Promise<void> {
  const found = await database.columns();
  const broken = await findBrokenViews(database, tables);
  const others = tables.filter((table) => !broken.names.has(table));
  const missingTables: string[] = others.filter((table) => !found.has(table));
  const missingColumns: string[] = [];
  for (const table of others) {
    const columns = found.get(table);
    if (columns === undefined) continue;
    for (const name of columnNames(table)) {
      if (!columns.has(name)) missingColumns.push(`${table}.${name}`);
    }
  }
  const missing: string[] = [];
  if (missingTables.length > 0) missing.push(listed('the table', missingTables));
  if (missingColumns.length > 0) missing.push(listed('the column', missingColumns));
  const faults = [...broken.faults];
  if (missing.length > 0) {
    faults.push(
      `The database lacks ${missing.join(' and ')}, or its user may not read them. Offer them as tables or views; README.md shows how.`,
    );
  }
  if (faults.length > 0) throw new Error(faults.join(' '));
}

/** Makes each table that is absent; tables that are there stay as they are. */
export async function createTables(
  database: Database,
  tables: readonly TableName[] = Object.keys(TABLES) as TableName[],
): Promise<void> {
  for (const table of tables) {
    const statements = database.kind === 'mysql' ? [mysqlTable(table)] : sqliteTable(table);
    for (const sql of statements) await database.run(sql);
  }
}

/** Makes `api_keys` alone, for a site that offers the rest as views. */
export async function createKeysTable(database: Database): Promise<void> {
  const columns = (await database.columns()).get('api_keys');
  // Asked first, since a user who may not create tables may still use the one that is there.
  if (columns === undefined) await createTables(database, ['api_keys']);
  else if (!columns.has('last_used_on')) await addLastUse(database);
}

/**
 * Makes what is absent of the tables that `keys/` writes into, and the triggers of the history.
 * `accounts` is not among them: it is the site's.
 * @throws Error naming the right that is missing
 */
export async function createKeysTables(database: Database): Promise<void> {
  await createKeysTable(database);
  const found = await database.columns();
  for (const table of KEYS_TABLES.filter((name) => !found.has(name))) {
    try {
      await createTables(database, [table]);
    } catch (cause) {
      throw new Error(
        `The table ${table} cannot be made: ${(cause as Error).message}. Give the user of DATABASE_URL the rights that README.md lists.`,
        { cause },
      );
    }
  }
  await protectHistory(database);
}

// Of a table that was made before the column was known.
async function addLastUse(database: Database): Promise<void> {
  const definition = TABLES.api_keys.columns.last_used_on;
  try {
    await database.run(`ALTER TABLE api_keys ADD COLUMN last_used_on ${definition}`);
  } catch (cause) {
    // Another program may have added it just now.
    if ((await database.columns()).get('api_keys')?.has('last_used_on')) return;
    throw new Error(
      `api_keys lacks the column last_used_on, and it cannot be added: ${(cause as Error).message}. Add it as an administrator: ALTER TABLE api_keys ADD COLUMN last_used_on ${definition}.`,
      { cause },
    );
  }
}

function mysqlTable(table: TableName): string {
  const { columns, unique = [], keys = [] }: Table = TABLES[table];
  const lines = [
    ...Object.entries(columns).map(([name, definition]) => `${name} ${definition}`),
    ...unique.map((list) => `UNIQUE (${list})`),
    ...keys.map((list) => `KEY (${list})`),
  ];
  // Compared by code point, as SQLite does.
  return `CREATE TABLE IF NOT EXISTS ${table} (${lines.join(', ')}) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`;
}

function sqliteTable(table: TableName): string[] {
  const { columns, unique = [], keys = [] }: Table = TABLES[table];
  const lines = [
    ...Object.entries(columns).map(([name, definition]) => `${name} ${sqliteColumn(definition)}`),
    ...unique.map((list) => `UNIQUE (${list})`),
  ];
  return [
    `CREATE TABLE IF NOT EXISTS ${table} (${lines.join(', ')})`,
    ...keys.map(
      (list) =>
        `CREATE INDEX IF NOT EXISTS ${table}_${list.replace(', ', '_')} ON ${table} (${list})`,
    ),
  ];
}

// Only a column of the very type INTEGER is the key that SQLite stores rows by.
function sqliteColumn(definition: string): string {
  return definition
    .replace(/^(?:BIG)?INT UNSIGNED PRIMARY KEY/, 'INTEGER PRIMARY KEY')
    .replace('AUTO_INCREMENT', 'AUTOINCREMENT');
}

function listed(noun: string, names: readonly string[]): string {
  return `${noun}${names.length > 1 ? 's' : ''} ${names.join(', ')}`;
}
