/**
 * What owners do with their keys: reveal, rotate and revoke them. A key of another account is treated
 * as if it did not exist. A raw key is returned once and stored nowhere.
 */
import type { Database, Reader } from '../../database/database.ts';
import { hashKey, makeKey, SHOWN_CHARACTERS } from '../../format/api-key.ts';
import { shownTime } from '../../pages/shown-values.ts';
import { revokedMail, rotatedMail } from '../mail/mail-texts.ts';
import { addSeconds, toDatabaseTime } from '../tables/database-time.ts';
import { applyTransition, END_OVERLAP, REVOKE, Refusal, type Transition } from './transition.ts';

/** The longest time for which a rotated key works beside the new one. */
export const LONGEST_OVERLAP_HOURS = 7 * 24;

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
  /** How long the old key works beside the new one; by default, it stops at once. */
  readonly overlapHours?: number;
  /** The address of the pages, for links in the mail; without a slash at the end. */
  readonly publicUrl: string;
}

/**
 * Creates the key of an approved request, or of a request with a trial.
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
 * Replaces a revealed key by a new one. The old key stops working at the end of the overlap; a still
 * older one stops at once.
 * @returns the raw key, which is stored nowhere, and when the old key stops working
 * @throws Refusal also if the overlap is too long
 */
export async function rotateKey(
  database: Database,
  { prefix, overlapHours = 0, publicUrl, ...own }: Rotation,
): Promise<{ key: string; oldUntil: Date | undefined }> {
  if (!(overlapHours >= 0 && overlapHours <= LONGEST_OVERLAP_HOURS)) {
    throw new Refusal(
      `The old key can work for 0 to ${LONGEST_OVERLAP_HOURS} hours beside the new one.`,
      'invalid',
    );
  }
  const oldUntil = overlapHours === 0 ? undefined : addSeconds(own.at, overlapHours * 3600);
  const until = oldUntil && toDatabaseTime(oldUntil);
  const { key } = await storeNewKey(database, own, 'rotated', {
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
    ...(until === undefined ? {} : { copies: PREVIOUS }),
    changes: until === undefined ? NO_PREVIOUS : { previous_until: until },
    reason: oldUntil && `The old key works until ${shownTime(oldUntil)}`,
    mail: { publicUrl, write: (news) => rotatedMail(news, until) },
  });
  return { key, oldUntil };
}

/** Ends the overlap of a rotation: the old key stops working now. */
export async function endOverlap(database: Database, { id, accountId, at }: OwnKey): Promise<void> {
  await applyTransition(database, id, {
    ...END_OVERLAP,
    ...ownerOf(accountId),
    condition: {
      sql: 'previous_until > ?',
      values: [toDatabaseTime(at)],
      otherwise: 'has no old key that still works',
    },
    changes: NO_PREVIOUS,
    event: { action: 'overlap_ended', actorId: actorOf(accountId), at },
  });
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

const PREVIOUS = { previous_hash: 'key_hash', previous_prefix: 'key_prefix' };
const NO_PREVIOUS = { previous_hash: null, previous_prefix: null, previous_until: null };

async function storeNewKey(
  database: Database,
  { id, accountId, at }: OwnKey,
  action: 'revealed' | 'rotated',
  {
    changes = {},
    reason,
    ...rest
  }: Pick<Transition, 'condition' | 'copies' | 'mail'> & {
    readonly changes?: Transition['changes'];
    readonly reason?: string | undefined;
  },
): Promise<{ key: string }> {
  const key = makeKey();
  await applyTransition(database, id, {
    from: [(await isInTrial(database, id, at)) ? 'pending' : 'approved'],
    rule: `only an approved key can be ${action}`,
    ...ownerOf(accountId),
    ...rest,
    changes: {
      ...changes,
      key_hash: hashKey(key),
      key_prefix: key.slice(0, SHOWN_CHARACTERS),
      revealed_at: toDatabaseTime(at),
    },
    event: { action, actorId: actorOf(accountId), at, reason },
  });
  return { key };
}

/** Whether a key works before its review. */
async function isInTrial(reader: Reader, id: number, at: Date): Promise<boolean> {
  const rows = await reader.rows(
    "SELECT id FROM api_keys WHERE id = ? AND state = 'pending' AND trial_until > ?",
    [id, toDatabaseTime(at)],
  );
  return rows.length > 0;
}

/** The condition on the owner of a key. */
export function ownerOf(accountId: OwnKey['accountId']): { ownedBy: number | undefined } {
  return { ownedBy: accountId === 'operator' ? undefined : accountId };
}

/** The account that acts; null for an operator. */
export function actorOf(accountId: OwnKey['accountId']): number | null {
  return accountId === 'operator' ? null : accountId;
}
