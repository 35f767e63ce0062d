/**
 * What owners do with their keys: reveal, rotate and revoke them. A key of another account is treated
 * as if it did not exist. A raw key is returned once and stored nowhere.
 */
import type { Database } from '../../database/database.ts';
import { hashKey, makeKey, SHOWN_CHARACTERS } from '../../format/api-key.ts';
import { revokedMail, rotatedMail } from '../mail/mail-texts.ts';
import { toDatabaseTime } from '../tables/database-time.ts';
import { refuseManyRotations } from './change-limits.ts';
import { applyTransition, REVOKE, type Transition } from './transition.ts';

/** A key, and the account that it must belong to. */
export interface OwnKey {
  readonly id: number;
  /** 'operator' if an operator acts at the command line: the key may then belong to any account. */
  readonly accountId: number | 'operator';
  readonly at: Date;
}

export interface Rotation extends OwnKey {
  /**
   * The first characters of the key to replace, if a form names it: the same form, sent twice, must
   * not replace the new key.
   */
  readonly prefix?: string;
  /** The address of the pages, for links in the mail; without a slash at the end. */
  readonly publicUrl: string;
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
 * @throws Refusal if it was rotated too often
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
    check: (reader) => refuseManyRotations(reader, own.id, own.at),
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
  more: Pick<Transition, 'check' | 'condition' | 'mail'>,
): Promise<{ key: string }> {
  const key = makeKey();
  await applyTransition(database, id, {
    from: ['approved'],
    rule: `only an approved key can be ${action}`,
    ...ownerOf(accountId),
    ...more,
    changes: {
      key_hash: hashKey(key),
      key_prefix: key.slice(0, SHOWN_CHARACTERS),
      revealed_at: toDatabaseTime(at),
    },
    event: { action, actorId: actorOf(accountId), at },
  });
  return { key };
}

/** The condition on the owner of a key. */
export function ownerOf(accountId: OwnKey['accountId']): { ownedBy: number | undefined } {
  return { ownedBy: accountId === 'operator' ? undefined : accountId };
}

/** The account that acts; null for an operator. */
export function actorOf(accountId: OwnKey['accountId']): number | null {
  return accountId === 'operator' ? null : accountId;
}
