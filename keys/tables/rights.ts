/**
 * The rights on MySQL and MariaDB that the programs need on their tables, besides SELECT. operations/keys.md
 * has the same rights as GRANT statements, and a test compares both.
 */

interface Rights {
  /** In daily use. */
  readonly use: readonly string[];
  /** To create or extend the table. They may be taken away afterwards. */
  readonly setup: readonly string[];
}

/** What `cover-catalogue account` and `keys` need. */
export const KEYS_RIGHTS: Readonly<Record<string, Rights>> = {
  api_keys: { use: ['INSERT', 'UPDATE'], setup: ['CREATE', 'ALTER'] },
  old_keys: { use: ['INSERT', 'DELETE'], setup: ['CREATE'] },
  key_events: { use: ['INSERT'], setup: ['CREATE', 'TRIGGER'] },
  // Only `schedule` writes here, which often has the same user.
  key_usage: { use: [], setup: ['INSERT', 'UPDATE', 'DELETE', 'CREATE'] },
  request_turns: { use: ['INSERT', 'UPDATE'], setup: ['CREATE'] },
  mail_outbox: { use: ['INSERT', 'UPDATE', 'DELETE'], setup: ['CREATE'] },
  sign_in_links: { use: ['INSERT', 'UPDATE', 'DELETE'], setup: ['CREATE'] },
  sessions: { use: ['INSERT', 'UPDATE', 'DELETE'], setup: ['CREATE'] },
};

/**
 * What the verbs of `keys account` need on `accounts`, besides SELECT, if it is a table of this project:
 * `add` creates the table and inserts into it, `role` updates it, and `remove` deletes from it. The
 * account pages only read it.
 */
export const OWN_ACCOUNTS_RIGHTS: readonly string[] = ['INSERT', 'UPDATE', 'DELETE', 'CREATE'];

/** What `cover-catalogue schedule` needs, to import key usage. */
export const SCHEDULE_RIGHTS: Readonly<Record<string, Rights>> = {
  api_keys: { use: ['UPDATE'], setup: [] },
  key_usage: { use: ['INSERT', 'UPDATE', 'DELETE'], setup: [] },
};
