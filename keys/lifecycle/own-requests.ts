/**
 * What owners do with their requests: send, withdraw and name them. A request of another account
 * is treated as if it did not exist.
 */
import type { Database, Reader, Value, Writer } from '../../database/database.ts';
import { withAccountLock } from '../tables/account-lock.ts';
import { findAccount, hasAccounts } from '../tables/accounts.ts';
import { toDatabaseTime } from '../tables/database-time.ts';
import { refuseManyChanges } from './change-limits.ts';
import { recordEvent } from './history.ts';
import { actorOf, type OwnKey, ownerOf } from './own-keys.ts';
import { noSuchAccount, Refusal } from './refusal.ts';
import { applyTransition, RENAME, WITHDRAW } from './transition.ts';
import { checkLength, cleanText, readKeyName } from './typed-text.ts';

/** How many requests of one account may be under review at once. */
export const MOST_PENDING = 5;
/** In characters, for the address of a website. */
export const LONGEST_ADDRESS = 2000;

/** What an owner types into the form of a request. */
export interface RequestText {
  readonly purpose: string;
  /** An http or https address without user and password. */
  readonly websiteUrl: string;
  /** '' for none. */
  readonly name?: string | undefined;
}

export interface NewRequest extends RequestText {
  readonly accountId: number;
  readonly at: Date;
  /** Null if an operator acts at the command line, not the account itself. */
  readonly by?: null;
}

/**
 * Requests a key.
 * @throws Refusal if the request is not valid, too many requests are under review, or the account
 * does not exist
 */
export async function requestKey(
  database: Database,
  { accountId, at, by, ...text }: NewRequest,
): Promise<{ id: number }> {
  const columns = columnsOf(text);
  const refuseTooMany = async (reader: Reader) => {
    if (by !== null) await refuseManyChanges(reader, accountId, at);
    await refuseOneTooMany(reader, accountId);
  };
  // Checked before the lock as well, so that a flood of requests is refused without waiting for it.
  await refuseTooMany(database);
  const hasTable = await hasAccounts(database);
  if (!hasTable || !(await findAccount(database, accountId))) throw noSuchAccount(accountId);
  return withAccountLock(database, accountId, async (writer) => {
    await refuseTooMany(writer);
    const id = await insertKey(writer, {
      account_id: accountId,
      state: 'pending',
      requested_at: toDatabaseTime(at),
      ...columns,
    });
    await recordEvent(writer, {
      keyId: id,
      at,
      actorId: by === null ? null : accountId,
      action: 'requested',
    });
    return { id };
  });
}

/** Withdraws a request that is still under review. */
export async function withdrawRequest(
  database: Database,
  { id, accountId, at }: OwnKey,
): Promise<void> {
  await applyTransition(database, id, {
    ...WITHDRAW,
    ...ownerOf(accountId),
    changes: {},
    event: { action: 'withdrawn', actorId: actorOf(accountId), at },
  });
}

/** Gives a key or a request another name, or none. */
export async function renameKey(
  database: Database,
  { id, accountId, at, name: text }: OwnKey & { readonly name: string },
): Promise<void> {
  const name = readKeyName(text);
  await applyTransition(database, id, {
    ...RENAME,
    ...ownerOf(accountId),
    changes: { name },
    event: { action: 'renamed', actorId: actorOf(accountId), at, reason: name ?? 'No name' },
  });
}

/** @throws Refusal if the text of a request is not valid */
function columnsOf({ purpose, websiteUrl, name = '' }: RequestText) {
  const text = cleanText(purpose);
  if (text === '') throw new Refusal('Say what you are building.', 'invalid');
  checkLength('Your text', text);
  return {
    purpose: text,
    website_url: parseWebsite(websiteUrl),
    name: readKeyName(name),
  };
}

async function insertKey(
  writer: Writer,
  columns: Readonly<Record<string, Value>>,
): Promise<number> {
  const names = Object.keys(columns);
  const { insertId } = await writer.run(
    `INSERT INTO api_keys (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`,
    Object.values(columns),
  );
  return insertId;
}

/** Whether {@link MOST_PENDING} requests of an account are under review. */
export async function hasMostPending(reader: Reader, accountId: number): Promise<boolean> {
  const pending = await reader.rows(
    `SELECT id FROM api_keys WHERE account_id = ? AND state = 'pending' LIMIT ${MOST_PENDING}`,
    [accountId],
  );
  return pending.length === MOST_PENDING;
}

async function refuseOneTooMany(reader: Reader, accountId: number): Promise<void> {
  if (!(await hasMostPending(reader, accountId))) return;
  throw new Refusal(
    `${MOST_PENDING} of your requests are waiting for review already. You can send another one when a moderator has decided about one of them, or when you withdraw one.`,
    'conflict',
  );
}

/** @returns the address in its normal form, as browsers show it */
function parseWebsite(text: string): string {
  const trimmed = text.trim();
  const url = URL.canParse(trimmed) ? new URL(trimmed) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw new Refusal(
      'The website must be an http or https address, such as https://example.org.',
      'invalid',
    );
  }
  if (url.username !== '' || url.password !== '') {
    throw new Refusal('The website address must not contain a user name or a password.', 'invalid');
  }
  if (url.href.length <= LONGEST_ADDRESS) return url.href;
  throw new Refusal(
    `The website has ${url.href.length} characters; at most ${LONGEST_ADDRESS} are allowed.`,
    'invalid',
  );
}
