/**
 * The rights on MySQL and MariaDB that the programs need on their tables in daily use, besides SELECT. The
 * GRANT statements of operations/from-your-site.md have them as well, and a test compares both.
 */

/** What `cover-catalogue account` and `keys` need. */
export const KEYS_RIGHTS: Readonly<Record<string, readonly string[]>> = {
  api_keys: ['INSERT', 'UPDATE'],
  old_keys: ['INSERT', 'DELETE'],
  key_events: ['INSERT'],
  // Only `schedule` writes here.
  key_usage: [],
  request_turns: ['INSERT', 'UPDATE'],
  mail_outbox: ['INSERT', 'UPDATE', 'DELETE'],
  sign_in_links: ['INSERT', 'UPDATE', 'DELETE'],
  sessions: ['INSERT', 'UPDATE', 'DELETE'],
};

/** What `cover-catalogue schedule` needs, to import key usage. */
export const SCHEDULE_RIGHTS: Readonly<Record<string, readonly string[]>> = {
  api_keys: ['UPDATE'],
  key_usage: ['INSERT', 'UPDATE', 'DELETE'],
};
