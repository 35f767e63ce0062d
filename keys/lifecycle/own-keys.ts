/**
 * What owners do: send, withdraw and name requests; reveal, rotate, name and revoke keys. A key of
 * another account is treated as if it did not exist. A raw key is returned once and stored nowhere.
 */
import type { Database, Reader } from '../../database/database.ts';
import { hashKey, makeKey, SHOWN_CHARACTERS } from '../../format/api-key.ts';
import { revokedMail, rotatedMail } from '../mail/mail-texts.ts';
import { findAccount, hasAccounts, withAccountLock } from '../tables/accounts.ts';
import { toDatabaseTime } from '../tables/values.ts';
import { recordEvent, refuseManyChanges } from './history.ts';
import { invalid, noSuchAccount, Refusal } from './refusal.ts';
import { applyTransition, RENAME, REVOKE, type Transition, WITHDRAW } from './transition.ts';
import { checkLength, cleanText, parseWebsite, readKeyName } from './typed-text.ts';

/** How many requests of one account may be under review at once. */
export const MOST_PENDING = 5;

/** A key, and the account that it must belong to. */
export interface OwnKey {
  readonly id: number;
  readonly accountId: number;
  readonly at: Date;
}

export interface Rotation extends Omit<OwnKey, 'accountId'> {
  /** Null if an operator acts: the key may then belong to any account, or to none. */
  readonly accountId: number | null;
  /**
   * The first characters of the key to replace, if a form names it: the same form, sent twice, must
   * not replace the new key.
   */
  readonly prefix?: string;
  /** The address of the pages, for links in the mail; without a slash at the end. */
  readonly publicUrl: string;
}

export interface NewRequest {
  readonly accountId: number;
  readonly purpose: string;
  /** An http or https address without user and password. */
  readonly websiteUrl: string;
  /** '' for none. */
  readonly name?: string | undefined;
  readonly at: Date;
}

/**
 * Requests a key.
 * @throws Refusal if the request is not valid, too many requests are under review, or the account
 * does not exist
 */
export async function requestKey(
  database: Database,
  { accountId, purpose: text, websiteUrl, name = '', at }: NewRequest,
): Promise<{ id: number }> {
  const purpose = cleanText(text);
  if (purpose === '') throw invalid('Say what you are building.');
  checkLength('Your text', purpose);
  const typed = [purpose, parseWebsite(websiteUrl), readKeyName(name)];
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
    const { insertId: id } = await writer.run(
      `INSERT INTO api_keys (account_id, state, requested_at, purpose, website_url, name)
       VALUES (?, 'pending', ?, ?, ?, ?)`,
      [accountId, toDatabaseTime(at), ...typed],
    );
    await recordEvent(writer, { keyId: id, at, actorId: accountId, action: 'requested' });
    return { id };
  });
}

/** Whether {@link MOST_PENDING} requests of an account are under review. */
export async function hasMostPending(reader: Reader, accountId: number): Promise<boolean> {
  const pending = await reader.rows(
    `SELECT id FROM api_keys WHERE account_id = ? AND state = 'pending' LIMIT ${MOST_PENDING}`,
    [accountId],
  );
  return pending.length === MOST_PENDING;
}

/** Withdraws a request that is still under review. */
export async function withdrawRequest(
  database: Database,
  { id, accountId, at }: OwnKey,
): Promise<void> {
  await applyTransition(database, id, {
    ...WITHDRAW,
    ownedBy: accountId,
    changes: {},
    event: { action: 'withdrawn', actorId: accountId, at },
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
    ownedBy: accountId,
    changes: { name },
    event: { action: 'renamed', actorId: accountId, at, reason: name ?? 'No name' },
  });
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
 * Replaces a revealed key by a new one. The old key stops working.
 * @returns the raw key, which is stored nowhere
 */
export async function rotateKey(
  database: Database,
  { prefix, publicUrl, ...own }: Rotation,
): Promise<{ key: string }> {
  return storeNewKey(database, own, 'rotated', {
    condition:
      prefix === undefined
        ? {
            sql: 'key_hash IS NOT NULL',
            otherwise: 'was not revealed yet, so there is nothing to rotate',
          }
        : {
            sql: 'key_prefix = ?',
            values: [prefix],
            otherwise: 'was rotated in the meantime; nothing was changed now',
          },
    mail: { publicUrl, write: rotatedMail },
  });
}

/** Lets an owner revoke an approved key permanently. */
export async function revokeOwnKey(
  database: Database,
  { id, accountId, at, publicUrl }: OwnKey & { readonly publicUrl: string },
): Promise<void> {
  await applyTransition(database, id, {
    ...REVOKE,
    ownedBy: accountId,
    changes: { revoked_at: toDatabaseTime(at) },
    event: { action: 'revoked', actorId: accountId, at },
    mail: { publicUrl, write: (news) => revokedMail(news, undefined) },
  });
}

async function storeNewKey(
  database: Database,
  { id, accountId, at }: Pick<Rotation, 'id' | 'accountId' | 'at'>,
  action: 'revealed' | 'rotated',
  more: Pick<Transition, 'condition' | 'mail'>,
): Promise<{ key: string }> {
  const key = makeKey();
  await applyTransition(database, id, {
    from: ['approved'],
    rule: `only an approved key can be ${action}`,
    ownedBy: accountId ?? undefined,
    ...more,
    changes: {
      key_hash: hashKey(key),
      key_prefix: key.slice(0, SHOWN_CHARACTERS),
      revealed_at: toDatabaseTime(at),
    },
    event: { action, actorId: accountId, at },
  });
  return { key };
}
