/**
 * What owners do with their keys: request, reveal, rotate and revoke them. A key of another account is
 * treated as if it did not exist. A raw key is returned once and stored nowhere.
 */
import type { Database, Reader } from '../../database/database.ts';
import { hashKey, makeKey, SHOWN_CHARACTERS } from '../../format/api-key.ts';
import { revokedMail } from '../mail/mail-texts.ts';
import { lockAccount, prepareAccountLock } from '../tables/account-lock.ts';
import { findAccount, hasAccounts } from '../tables/accounts.ts';
import { toDatabaseTime } from '../tables/database-time.ts';
import { recordEvent } from './history.ts';
import { applyTransition, noSuchAccount, REVOKE, Refusal } from './transition.ts';
import { checkLength, cleanText } from './typed-text.ts';

/** How many requests of one account may be under review at once. */
export const MOST_PENDING = 3;
/** In characters, for the address of a website. */
export const LONGEST_ADDRESS = 2000;

/** A key, and the account that it must belong to. */
export interface OwnKey {
  readonly id: number;
  /** 'operator' if an operator acts at the command line: the key may then belong to any account. */
  readonly accountId: number | 'operator';
  readonly at: Date;
}

/**
 * Requests a key.
 * @param websiteUrl an http or https address without user and password
 * @param by the account that acts, by default `accountId`; null for an operator at the command line
 * @throws Refusal if the request is not valid, too many requests are under review, or the account
 * does not exist
 */
export async function requestKey(
  database: Database,
  {
    accountId,
    purpose,
    websiteUrl,
    at,
    by = accountId,
  }: { accountId: number; purpose: string; websiteUrl: string; at: Date; by?: number | null },
): Promise<{ id: number }> {
  const text = cleanText(purpose);
  if (text === '') throw new Refusal('Say what the key is for.', 'invalid');
  checkLength('The purpose', text);
  const address = parseWebsite(websiteUrl);
  // Checked before the lock as well, so that a flood of requests is refused without waiting for it.
  await refuseOneTooMany(database, accountId);
  const hasTable = await hasAccounts(database);
  if (!hasTable || !(await findAccount(database, accountId))) throw noSuchAccount(accountId);
  await prepareAccountLock(database, accountId);
  return database.transaction(async (writer) => {
    await lockAccount(writer, accountId);
    await refuseOneTooMany(writer, accountId);
    const { insertId } = await writer.run(
      `INSERT INTO api_keys (account_id, purpose, website_url, state, requested_at)
       VALUES (?, ?, ?, 'pending', ?)`,
      [accountId, text, address, toDatabaseTime(at)],
    );
    await recordEvent(writer, { keyId: insertId, at, actorId: by, action: 'requested' });
    return { id: insertId };
  });
}

/**
 * Creates the key of an approved request.
 * @returns the raw key, which is stored nowhere
 */
export async function revealKey(database: Database, own: OwnKey): Promise<{ key: string }> {
  return storeNewKey(database, own, 'revealed', {
    sql: 'key_hash IS NULL',
    otherwise: 'was revealed before, and is shown only once; rotate it if it is lost',
  });
}

/**
 * Replaces a revealed key by a new one. The old key stops working.
 * @param prefix the first characters of the key to replace, if a form names it: the same form, sent
 * twice, must not replace the new key
 * @returns the raw key, which is stored nowhere
 */
export async function rotateKey(
  database: Database,
  { prefix, ...own }: OwnKey & { readonly prefix?: string },
): Promise<{ key: string }> {
  return storeNewKey(
    database,
    own,
    'rotated',
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
  );
}

/** Lets an owner revoke an approved or suspended key permanently. */
export async function revokeOwnKey(
  database: Database,
  { id, accountId, at, publicUrl }: OwnKey & { readonly publicUrl: string },
): Promise<void> {
  await applyTransition(database, id, {
    ...REVOKE,
    ...ownerOf(accountId),
    changes: { revoked_at: toDatabaseTime(at) },
    event: { action: 'revoked', actorId: actorOf(accountId), at },
    mail: { publicUrl, write: (news) => revokedMail(news, undefined) },
  });
}

async function storeNewKey(
  database: Database,
  { id, accountId, at }: OwnKey,
  action: 'revealed' | 'rotated',
  condition: { sql: string; values?: string[]; otherwise: string },
): Promise<{ key: string }> {
  const key = makeKey();
  await applyTransition(database, id, {
    from: ['approved'],
    to: 'approved',
    rule: `only an approved key can be ${action}`,
    ...ownerOf(accountId),
    condition,
    changes: {
      key_hash: hashKey(key),
      key_prefix: key.slice(0, SHOWN_CHARACTERS),
      revealed_at: toDatabaseTime(at),
    },
    event: { action, actorId: actorOf(accountId), at },
  });
  return { key };
}

function ownerOf(accountId: OwnKey['accountId']): { ownedBy: number | undefined } {
  return { ownedBy: accountId === 'operator' ? undefined : accountId };
}

function actorOf(accountId: OwnKey['accountId']): number | null {
  return accountId === 'operator' ? null : accountId;
}

async function refuseOneTooMany(reader: Reader, accountId: number): Promise<void> {
  const [row] = await reader.rows(
    "SELECT COUNT(*) FROM api_keys WHERE account_id = ? AND state = 'pending'",
    [accountId],
  );
  if (Number(row?.[0]) < MOST_PENDING) return;
  throw new Refusal(
    `${MOST_PENDING} requests are already under review. You can request another key when one of them is decided.`,
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
    throw new Refusal('The website must not hold a user or a password.', 'invalid');
  }
  if (url.href.length <= LONGEST_ADDRESS) return url.href;
  throw new Refusal(
    `The website has ${url.href.length} characters; at most ${LONGEST_ADDRESS} are allowed.`,
    'invalid',
  );
}
