/** What moderators and operators do: issue, approve, reject and revoke keys, change limits. */
import type { Database, Reader, Writer } from '../../lib/database/database.ts';
import { hashKey, makeKey, SHOWN_CHARACTERS } from '../../lib/format/api-key.ts';
import { shownNumber } from '../../lib/pages/shown-values.ts';
import {
  approvedMail,
  type KeyNews,
  type MailText,
  rejectedMail,
  revokedMail,
} from '../mail/mail-texts.ts';
import { type AccountId, toDatabaseTime } from '../tables/values.ts';
import { recordEvent } from './history.ts';
import { findKey, type KeyRow } from './key-lists.ts';
import { invalid, Refusal } from './refusal.ts';
import {
  APPROVE,
  applyTransition,
  CHANGE_LIMIT,
  GRANT,
  REJECT,
  REVOKE,
  type Transition,
} from './transition.ts';
import { checkLength, checkLimit, cleanText, readReason } from './typed-text.ts';

/** Who makes a decision, and when. */
interface Review {
  /** The moderator's account; null for an operator at the command line. */
  readonly by: AccountId | null;
  readonly at: Date;
  /** The address of the pages, for links in the mail; without a slash at the end. */
  readonly publicUrl: string;
}

export interface ReviewWithReason extends Review {
  /** For the owner, who gets it by e-mail. */
  readonly reason: string;
}

/**
 * Creates an approved key without an account, and reveals it at once.
 * @returns the raw key, which is stored nowhere
 */
export async function issueKey(
  database: Database,
  { limit, purpose, at }: { limit: number; purpose: string; at: Date },
): Promise<{ id: number; key: string }> {
  checkLimit(limit);
  const note = cleanText(purpose);
  checkLength('The note', note);
  const key = makeKey();
  const now = toDatabaseTime(at);
  const id = await database.transaction(async (writer) => {
    const { insertId } = await writer.run(
      `INSERT INTO api_keys (purpose, website_url, state, limit_per_minute,
         key_hash, key_prefix, requested_at, reviewed_at, revealed_at)
       VALUES (?, '', 'approved', ?, ?, ?, ?, ?, ?)`,
      [note, limit, hashKey(key), key.slice(0, SHOWN_CHARACTERS), now, now, now],
    );
    await recordEvent(writer, { keyId: insertId, at, actorId: null, action: 'issued', limit });
    return insertId;
  });
  return { id, key };
}

type Approval = Review & { readonly limit: number };

/** The limit of a request, if a moderator does not choose another one. */
export function suggestedLimit(request: KeyRow, defaultLimit: number): number {
  return request.limit_of === null ? defaultLimit : request.limit_per_minute;
}

/**
 * Approves a pending request. Of a request for a key, the key itself is created when the owner reveals it. A
 * request for a higher limit raises the limit of its key.
 */
export async function approveRequest(
  database: Database,
  id: number,
  approval: Approval,
): Promise<void> {
  const { limit, by, at, publicUrl } = approval;
  checkLimit(limit);
  const limitOf = (await findKey(database, id))?.limit_of ?? null;
  const raises = {
    ...GRANT,
    last: (writer: Writer) => raiseLimit(writer, Number(limitOf), `Request ${id}`, approval),
  };
  await applyTransition(database, id, {
    ...(limitOf === null ? APPROVE : raises),
    changes: {
      limit_per_minute: limit,
      reviewed_at: toDatabaseTime(at),
      reviewed_by: by,
    },
    event: { action: 'approved', actorId: by, at, limit },
    mail: { publicUrl, write: (news) => approvedMail(news, limit) },
  });
}

/** @param reason what the history of the key says @throws Refusal if the key does not get a higher limit by it */
async function raiseLimit(
  writer: Writer,
  keyId: number,
  reason: string,
  { limit, by, at }: Approval,
): Promise<void> {
  const { changes } = await writer.run(
    `UPDATE api_keys SET limit_per_minute = ?
     WHERE id = ? AND state = 'approved' AND limit_per_minute < ?`,
    [limit, keyId, limit],
  );
  if (changes !== 1) throw await notRaised(writer, keyId);
  await recordEvent(writer, { keyId, at, actorId: by, action: 'limit_changed', reason, limit });
}

async function notRaised(reader: Reader, keyId: number): Promise<Refusal> {
  const { state = 'gone', limit_per_minute: present = 0 } = (await findKey(reader, keyId)) ?? {};
  if (state !== 'approved') {
    return new Refusal(`Key ${keyId} is ${state}. Reject the request.`, 'conflict');
  }
  const shown = `${shownNumber(present)} requests per minute`;
  return invalid(`Key ${keyId} has ${shown}. Give it more, or reject the request.`, 'limit');
}

/** Rejects a pending request. */
export async function rejectRequest(
  database: Database,
  id: number,
  review: ReviewWithReason,
): Promise<void> {
  const changes = { reviewed_at: toDatabaseTime(review.at), reviewed_by: review.by };
  const transition = transitionWithReason(review, 'rejected', changes, rejectedMail);
  await applyTransition(database, id, { ...REJECT, ...transition });
}

/** Revokes an approved key permanently. */
export async function revokeKey(
  database: Database,
  id: number,
  review: ReviewWithReason,
): Promise<void> {
  const changes = { revoked_at: toDatabaseTime(review.at) };
  const transition = transitionWithReason(review, 'revoked', changes, revokedMail);
  await applyTransition(database, id, { ...REVOKE, ...transition });
}

function transitionWithReason(
  { reason: text, by, at, publicUrl }: ReviewWithReason,
  action: 'rejected' | 'revoked',
  changes: Transition['changes'],
  writeMail: (news: KeyNews, reason: string) => MailText,
): Pick<Transition, 'changes' | 'event' | 'mail'> {
  const reason = readReason(text);
  return {
    changes: { reason, ...changes },
    event: { action, actorId: by, at, reason },
    mail: { publicUrl, write: (news) => writeMail(news, reason) },
  };
}

/** Gives an approved key another limit, in requests per minute. */
export async function changeLimit(
  database: Database,
  id: number,
  { limit, by, at }: { limit: number; by: AccountId | null; at: Date },
): Promise<void> {
  checkLimit(limit);
  await applyTransition(database, id, {
    ...CHANGE_LIMIT,
    changes: { limit_per_minute: limit },
    event: { action: 'limit_changed', actorId: by, at, limit },
  });
}
