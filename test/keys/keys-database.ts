/** A database with the tables of keys and accounts, in which tests create keys of any state. */

import {
  requestHigherLimit,
  requestKey,
  revealKey,
  withdrawRequest,
} from '#keys/lifecycle/own-keys.ts';
import { approveRequest, rejectRequest, revokeKey } from '#keys/lifecycle/reviews.ts';
import type { Account } from '#keys/tables/accounts.ts';
import { ACCOUNTS_TABLE, createKeysTables } from '#keys/tables/schema.ts';
import type { AccountId } from '#keys/tables/values.ts';
import type { Database, Reader, Writer } from '#lib/database/database.ts';
import { openDatabase } from '#lib/database/open.ts';
import { createTables } from '#lib/database/tables.ts';
import { type Kind, makeDatabase } from '#test/support/databases.ts';
import { atEndOfFile } from '#test/support/end-of-file.ts';

export const PUBLIC_URL = 'https://covers.example';
export const AT = new Date('2026-03-04T05:06:07Z');
/** The id of the moderator's account. */
export const MODERATOR = 900;
/** What a decision of the moderator says besides its reason or limit. */
export const REVIEW = { by: MODERATOR, at: AT, publicUrl: PUBLIC_URL };
/** So many seconds after {@link AT}. */
export const later = (seconds: number) => new Date(AT.getTime() + seconds * 1000);

/** The states of keys in the product, and a separate one for an approved key that was revealed. */
export const STATES = [
  ...['pending', 'approved', 'revealed', 'granted', 'rejected', 'withdrawn', 'revoked'],
] as const;
export type TestState = (typeof STATES)[number];

export interface KeysDatabase extends Database {
  readonly url: string;
  /** Adds an account. */
  addOwner(changes?: Partial<Account>): Promise<Account>;
  /** Creates a key of an account and brings it into a state by the product's own transitions. */
  keyIn(state: TestState, accountId: AccountId): Promise<number>;
}

/** Creates an empty database with the tables of keys, which is closed at the end of the file. */
export async function openKeyTables(kind: Kind): Promise<Database & { readonly url: string }> {
  const url = await makeDatabase(kind);
  const database = await openDatabase(url);
  atEndOfFile(() => database.close());
  await createKeysTables(database);
  return { ...database, url };
}

export async function openKeysDatabase(kind: Kind): Promise<KeysDatabase> {
  const database = await openKeyTables(kind);
  await createTables(database, ACCOUNTS_TABLE);
  let lastId = 0;

  async function addOwner(changes: Partial<Account> = {}): Promise<Account> {
    const id = changes.id ?? ++lastId;
    const owner: Account = {
      id,
      email: `owner-${id}@covers.example`,
      name: `Owner ${id}`,
      role: 'user',
      ...changes,
    };
    await database.run('INSERT INTO accounts (id, email, name, role) VALUES (?, ?, ?, ?)', [
      owner.id,
      owner.email,
      owner.name,
      owner.role,
    ]);
    return owner;
  }
  await addOwner({ id: MODERATOR, email: 'mod@covers.example', name: 'Mo', role: 'moderator' });

  async function keyIn(state: TestState, accountId: AccountId): Promise<number> {
    const { id } = await requestKey(database, {
      accountId,
      purpose: 'a tool',
      websiteUrl: 'https://tool.example',
      at: AT,
    });
    if (state === 'rejected') await rejectRequest(database, id, { reason: 'spam', ...REVIEW });
    if (state === 'withdrawn') await withdrawRequest(database, { id, accountId, at: AT });
    if (['pending', 'rejected', 'withdrawn'].includes(state)) return id;
    await approveRequest(database, id, { limit: 60, ...REVIEW });
    if (state !== 'approved') await revealKey(database, { id, accountId, at: AT });
    if (state === 'revoked') await revokeKey(database, id, { reason: 'leaked', ...REVIEW });
    if (state === 'granted') {
      const asked = { accountId, limitOf: id, limit: 600, purpose: 'long lists', at: AT };
      const request = await requestHigherLimit(database, asked);
      await approveRequest(database, request.id, { limit: 600, ...REVIEW });
      return request.id;
    }
    return id;
  }

  return { ...database, addOwner, keyIn };
}

/** A database that calls a function before each statement and each transaction. */
export function intercept<D extends Database>(
  database: D,
  before: (...statement: [] | Parameters<Reader['rows']>) => Promise<void> | void,
): D {
  return {
    ...database,
    async rows(...statement: Parameters<Reader['rows']>) {
      await before(...statement);
      return database.rows(...statement);
    },
    async run(...statement: Parameters<Writer['run']>) {
      await before(...statement);
      return database.run(...statement);
    },
    async transaction<T>(work: (writer: Writer) => Promise<T>) {
      await before();
      return database.transaction(work);
    },
  };
}
