/**
 * What owners do: send, withdraw and name requests; reveal, rotate, name and revoke keys. A key of
 * another account is treated as if it did not exist. A raw key is returned once and stored nowhere.
 */
import type { Database, Reader, Value, Writer } from '../../lib/database/database.ts';
import { hashKey, makeKey, SHOWN_CHARACTERS } from '../../lib/format/api-key.ts';
import { shownNumber } from '../../lib/pages/shown-values.ts';
import { revokedMail, rotatedMail } from '../mail/mail-texts.ts';
import { findAccount, hasAccounts, withAccountLock } from '../tables/accounts.ts';
import {
  type AccountId,
  addSeconds,
  endsOfOldKeys,
  marks,
  OVERLAP_HOURS,
  toDatabaseTime,
} from '../tables/values.ts';
import { type EventAction, recordEvent, refuseManyChanges } from './history.ts';
import { findKey, type KeyRow } from './key-lists.ts';
import { invalid, noSuchAccount, Refusal, readAll } from './refusal.ts';
import {
  applyTransition,
  END_OLD_KEY,
  RENAME,
  REVOKE,
  type Transition,
  WITHDRAW,
} from './transition.ts';
import { checkLimit, parseWebsite, readKeyName, readPurpose } from './typed-text.ts';

/** How many requests of one account may be under review at once. */
export const MOST_PENDING = 5;

/** A key, and the account that it must belong to. */
export interface OwnKey {
  readonly id: number;
  readonly accountId: AccountId;
  readonly at: Date;
}

/** As {@link OwnKey}, or without an account if an operator acts: the key may then belong to any, or none. */
type Acting = Omit<OwnKey, 'accountId'> & { readonly accountId: AccountId | null };

interface Rotation extends Acting {
  /**
   * The first characters of the key to replace, if a form names it: the same form, sent twice, must
   * not replace the new key.
   */
  readonly prefix?: string;
  /** Whether the old key works for some time beside the new one. */
  readonly keepsOld?: boolean;
  /** The address of the pages, for links in the mail; without a slash at the end. */
  readonly publicUrl: string;
}

interface NewRequest {
  readonly accountId: AccountId;
  readonly purpose: string;
  /** An http or https address without user and password. */
  readonly websiteUrl: string;
  /** '' for none. */
  readonly name?: string | undefined;
  readonly at: Date;
}

/**
 * Requests a key.
 * @throws Refusal if the request is not valid, too many requests are under review, or the account does not
 * exist
 */
export async function requestKey(
  database: Database,
  { accountId, purpose: text, websiteUrl, name: typedName = '', at }: NewRequest,
): Promise<{ id: number }> {
  const [purpose, website_url, name] = readAll(
    () => readPurpose(text),
    () => parseWebsite(websiteUrl),
    () => readKeyName(typedName),
  );
  return addRequest(database, { accountId, at }, { purpose, website_url, name });
}

interface LimitRequest extends Pick<NewRequest, 'accountId' | 'purpose' | 'at'> {
  /** The id of the key. */
  readonly limitOf: number;
  /** In requests per minute. */
  readonly limit: number;
}

/**
 * Asks a higher limit for a key. Its approval raises the limit of that key, and makes no other one.
 * @throws Refusal as {@link requestKey}, and if the key is not in use
 */
export async function requestHigherLimit(
  database: Database,
  { accountId, limitOf, limit, purpose: text, at }: LimitRequest,
): Promise<{ id: number }> {
  const key = await findLimited(database, accountId, limitOf);
  if (key === undefined) {
    throw new Refusal('The key for which you asked a higher limit is not in use.', 'conflict');
  }
  const { limit_per_minute: present, website_url } = key;
  const [asked, purpose] = readAll<string | number>(
    () => readHigherLimit(limit, present),
    () => readPurpose(text, 'Say why you need more.'),
  );
  const request = { purpose, website_url, limit_of: limitOf, limit_per_minute: asked };
  return addRequest(database, { accountId, at, limit }, request);
}

function readHigherLimit(limit: number, present: number): number {
  checkLimit(limit);
  if (limit > present) return limit;
  throw invalid(`The key has ${shownNumber(present)} requests per minute. Ask for more.`, 'limit');
}

/** @param columns of the row, besides those of every request */
async function addRequest(
  database: Database,
  { accountId, at, limit }: { accountId: AccountId; at: Date; limit?: number },
  columns: Readonly<Record<string, Value>>,
): Promise<{ id: number }> {
  const refuseTooMany = async (reader: Reader) => {
    await refuseManyChanges(reader, accountId, at);
    if (await hasMostPending(reader, accountId)) {
      throw new Refusal(
        `${MOST_PENDING} of your requests are waiting for review already. You can send another one when a moderator has decided about one of them, or when you withdraw one.`,
        'conflict',
      );
    }
  };
  // Checked before the lock as well, so that a flood of requests is refused without waiting for it.
  await refuseTooMany(database);
  const hasTable = await hasAccounts(database);
  if (!hasTable || !(await findAccount(database, accountId))) throw noSuchAccount(accountId);
  return withAccountLock(database, accountId, async (writer) => {
    await refuseTooMany(writer);
    const names = Object.keys(columns);
    const { insertId: id } = await writer.run(
      `INSERT INTO api_keys (account_id, state, requested_at, ${names.join(', ')})
       VALUES (?, 'pending', ?, ${marks(names)})`,
      [accountId, toDatabaseTime(at), ...Object.values(columns)],
    );
    await recordEvent(writer, { keyId: id, at, actorId: accountId, action: 'requested', limit });
    return { id };
  });
}

/** @returns the key; undefined if it is not a revealed key of the account that is in use */
export async function findLimited(
  reader: Reader,
  accountId: AccountId,
  id: number,
): Promise<KeyRow | undefined> {
  const key = await findKey(reader, id);
  const isInUse = key?.state === 'approved' && key.revealed_at !== null;
  return isInUse && key.account_id === accountId ? key : undefined;
}

/** Whether {@link MOST_PENDING} requests of an account are under review. */
export async function hasMostPending(reader: Reader, accountId: AccountId): Promise<boolean> {
  const pending = await reader.rows(
    `SELECT id FROM api_keys WHERE account_id = ? AND state = 'pending' LIMIT ${MOST_PENDING}`,
    [accountId],
  );
  return pending.length === MOST_PENDING;
}

/** Withdraws a request that is still under review. */
export async function withdrawRequest(database: Database, own: OwnKey): Promise<void> {
  await changeOwn(database, own, 'withdrawn', { ...WITHDRAW, changes: {} });
}

/** Gives a key or a request another name, or none. */
export async function renameKey(
  database: Database,
  { name: text, ...own }: OwnKey & { readonly name: string },
): Promise<void> {
  const name = readKeyName(text);
  const reason = name ?? 'No name';
  await changeOwn(database, own, 'renamed', { ...RENAME, changes: { name } }, reason);
}

/**
 * Creates the key of an approved request.
 * @returns the raw key, which is stored nowhere
 */
export async function revealKey(database: Database, own: OwnKey): Promise<{ key: string }> {
  return storeNewKey(database, own, 'revealed', {
    condition: {
      sql: 'key_hash IS NULL',
      otherwise: 'was revealed before, and is shown only once; rotate it if it is lost',
    },
  });
}

/**
 * Replaces a revealed key by a new one. The old key, and one that was kept before, stops working, unless the
 * owner keeps it for {@link OVERLAP_HOURS}.
 * @returns the raw key, which is stored nowhere
 */
export async function rotateKey(
  database: Database,
  { prefix, keepsOld = false, publicUrl, ...own }: Rotation,
): Promise<{ key: string }> {
  const revealed = {
    sql: 'key_hash IS NOT NULL',
    otherwise: 'was not revealed yet, so there is nothing to rotate',
  };
  const unchanged = {
    sql: 'key_prefix = ?',
    values: [prefix ?? ''],
    otherwise: 'was rotated in the meantime; nothing was changed now',
  };
  return storeNewKey(database, own, 'rotated', {
    condition: prefix === undefined ? revealed : unchanged,
    first: (writer) => (keepsOld ? keepOldKey(writer, own.id, own.at) : endOldKey(writer, own.id)),
    mail: { publicUrl, write: (news) => rotatedMail(news, keepsOld ? OVERLAP_HOURS : 0) },
  });
}

/**
 * Keeps the key that a rotation replaces: it shares id, limit and usage with the new one. `keys/export` leaves
 * it out once its time has come, or its key is revoked. Call it before the key is replaced.
 */
async function keepOldKey(writer: Writer, id: number, at: Date): Promise<void> {
  await endOldKey(writer, id);
  await writer.run(
    `INSERT INTO old_keys (key_id, key_hash, key_prefix, ends_at)
     SELECT id, key_hash, key_prefix, ? FROM api_keys WHERE id = ? AND key_hash IS NOT NULL`,
    [toDatabaseTime(addSeconds(at, OVERLAP_HOURS * 3600)), id],
  );
}

async function endOldKey(writer: Writer, id: number): Promise<void> {
  await writer.run('DELETE FROM old_keys WHERE key_id = ?', [id]);
}

/** Ends the old key of a rotation, which must still work. */
export async function endOwnOldKey(database: Database, own: OwnKey): Promise<void> {
  await changeOwn(database, own, 'old_key_ended', {
    ...END_OLD_KEY,
    condition: {
      sql: `EXISTS (SELECT 1 FROM old_keys o
        WHERE o.key_id = api_keys.id AND o.ends_at > ? AND o.ends_at <= ?)`,
      values: endsOfOldKeys(own.at),
      otherwise: 'has no old key that still works',
    },
    changes: {},
    last: (writer: Writer) => endOldKey(writer, own.id),
  });
}

/** Lets an owner revoke an approved key permanently. */
export async function revokeOwnKey(
  database: Database,
  { publicUrl, ...own }: OwnKey & { readonly publicUrl: string },
): Promise<void> {
  await changeOwn(database, own, 'revoked', {
    ...REVOKE,
    changes: { revoked_at: toDatabaseTime(own.at) },
    mail: { publicUrl, write: (news) => revokedMail(news, undefined) },
  });
}

async function storeNewKey(
  database: Database,
  own: Acting,
  action: 'revealed' | 'rotated',
  more: Pick<Transition, 'condition' | 'first' | 'mail'>,
): Promise<{ key: string }> {
  const key = makeKey();
  await changeOwn(database, own, action, {
    from: ['approved'],
    rule: `only an approved key can be ${action}`,
    ...more,
    changes: {
      key_hash: hashKey(key),
      key_prefix: key.slice(0, SHOWN_CHARACTERS),
      revealed_at: toDatabaseTime(own.at),
    },
  });
  return { key };
}

async function changeOwn(
  database: Database,
  { id, accountId, at }: Acting,
  action: EventAction,
  transition: Omit<Transition, 'ownedBy' | 'event'>,
  reason?: string,
): Promise<void> {
  const event = { action, actorId: accountId, at, reason };
  await applyTransition(database, id, { ...transition, ownedBy: accountId ?? undefined, event });
}
