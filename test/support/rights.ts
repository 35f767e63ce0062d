/** The rights that the documents grant on the tables of keys, besides SELECT. */
import { KEYS_RIGHTS } from '#keys/tables/rights.ts';

/** To create or extend a table, besides the rights in daily use. They may be taken away afterwards. */
const SETUP_RIGHTS: Readonly<Record<string, readonly string[]>> = {
  api_keys: ['CREATE', 'ALTER'],
  key_events: ['CREATE', 'TRIGGER'],
  // Only `schedule` writes here, which often has the same user.
  key_usage: ['INSERT', 'UPDATE', 'DELETE', 'CREATE'],
};

/** Rights and table, as in `INSERT, CREATE ON sessions`. */
export const KEYS_GRANTS = Object.entries(KEYS_RIGHTS).map(
  ([table, use]) => `${[...use, ...(SETUP_RIGHTS[table] ?? ['CREATE'])].join(', ')} ON ${table}`,
);
