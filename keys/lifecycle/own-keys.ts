/**
 * What owners do with their keys: ask for one, reveal it once, rotate and revoke it. A key of
 * another account is as good as none. A raw key is handed out in one return value and kept nowhere.
 */
import type { Database, Reader } from '../../database/database.ts';
import { hashKey, makeKey, SHOWN_CHARACTERS } from '../../format/api-key.ts';
import { revokedMail } from '../mail/mail-texts.ts';
import { prepareTurns, takeTurn } from '../tables/account-lock.ts';
import { findAccount, hasAccounts } from '../tables/accounts.ts';
import { toDatabaseTime } from '../tables/database-time.ts';
import { recordEvent } from './history.ts';
import {
  checkLength,
  cleanText,
  makeMove,
  noSuchAccount,
  REVOKE,
  RefusedMove,
} from './requests.ts';

/** Requests of one account that may be under review at once. */
export const MOST_PENDING = 3;
export const LONGEST_ADDRESS = 2000;

/** Which key, and whose it must be. */
export interface OwnKey {
  readonly id: number;
  /** 'operator': whoever's it is, at the command line. */
  readonly accountId: number | 'operator';
  readonly at: Date;
}

/**
 * Asks for a key.
 * @param websiteUrl an http or https address without user and password
 * @param by who asks for the account: itself, or null for an operator at the command line
 * @throws RefusedMove for what is wrong with the request, one too many, or no such account
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
  if (text === '') throw new RefusedMove('Say what the key is for.', 'invalid');
  checkLength('The purpose', text);
  const address = parseWebsite(websiteUrl);
  // Asked before as well: a flood of requests is turned away without waiting for turns.
  await refuseOneTooMany(database, accountId);
  const hasTable = await hasAccounts(database);
  if (!hasTable || !(await findAccount(database, accountId))) throw noSuchAccount(accountId);
  await prepareTurns(database, accountId);
  return database.transaction(async (writer) => {
    await takeTurn(writer, accountId);
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
 * Makes the key of an approved request.
 * @returns the raw key, which cannot be had again
 */
export async function revealKey(database: Database, own: OwnKey): Promise<{ key: string }> {
  return handOut(database, own, 'revealed', {
    sql: 'key_hash IS NULL',
    otherwise: 'was revealed before, and is shown only once; rotate it if it is lost',
  });
}

/**
 * Puts a new key in the place of a revealed one, which stops working.
 * @param prefix the first characters of the key to replace, where a form is that must not do it
 * a second time
 * @returns the raw key, which cannot be had again
 */
export async function rotateKey(
  database: Database,
  { prefix, ...own }: OwnKey & { readonly prefix?: string },
): Promise<{ key: string }> {
  return handOut(
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

/** Ends an approved key for good, at its owner's wish. */
export async function revokeOwnKey(
  database: Database,
  { id, accountId, at, publicUrl }: OwnKey & { readonly publicUrl: string },
): Promise<void> {
  await makeMove(database, id, {
    ...REVOKE,
    ...ownerOf(accountId),
    changes: { revoked_at: toDatabaseTime(at) },
    event: { action: 'revoked', actorId: actorOf(accountId), at },
    mail: { publicUrl, write: (news) => revokedMail(news, undefined) },
  });
}

async function handOut(
  database: Database,
  { id, accountId, at }: OwnKey,
  action: 'revealed' | 'rotated',
  condition: { sql: string; values?: string[]; otherwise: string },
): Promise<{ key: string }> {
  const key = makeKey();
  await makeMove(database, id, {
    from: 'approved',
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
  throw new RefusedMove(
    `${MOST_PENDING} requests are under review already; ask again when one of them is decided.`,
    'conflict',
  );
}

/** @returns the address as browsers write it */
function parseWebsite(text: string): string {
  const trimmed = text.trim();
  const url = URL.canParse(trimmed) ? new URL(trimmed) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw new RefusedMove(
      'The website must be an http or https address, such as https://example.org.',
      'invalid',
    );
  }
  if (url.username !== '' || url.password !== '') {
    throw new RefusedMove('The website must not hold a user or a password.', 'invalid');
  }
  if (url.href.length <= LONGEST_ADDRESS) return url.href;
  throw new RefusedMove(
    `The website has ${url.href.length} characters; at most ${LONGEST_ADDRESS} are allowed.`,
    'invalid',
  );
}
