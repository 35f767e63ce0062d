/**
 * The life of an API key, as moves on a row of `api_keys`:
 *
 *   pending ──approve──► approved ──(reveal, rotate, limit)──► approved ──revoke──► revoked
 *      └─────reject────► rejected
 *
 * A move is one UPDATE that names the state it starts from, so of two at once the first stands and
 * the second is refused. Its event and its mail are written in the same transaction. The hash of a
 * key is all that is ever stored of it. Here are the moves of moderators and operators.
 */
import type { Database, Value } from '../../database/database.ts';
import {
  hashKey,
  KEY_STATES,
  type KeyState,
  makeKey,
  SHOWN_CHARACTERS,
} from '../../format/api-key.ts';
import { LARGEST_LIMIT } from '../../format/keys-file.ts';
import {
  approvedMail,
  type KeyNews,
  type MailText,
  rejectedMail,
  revokedMail,
} from '../mail/mail-texts.ts';
import { enqueueMail } from '../mail/outbox.ts';
import { findAccount, hasAccounts } from '../tables/accounts.ts';
import { toDatabaseTime } from '../tables/database-time.ts';
import { type EventAction, recordEvent } from './history.ts';

export { KEY_STATES, type KeyState };

export const LONGEST_TEXT = 5000;

/** A move was refused; the row is as it was. The message is fit for whoever asked for it. */
export class RefusedMove extends Error {
  override readonly name = 'RefusedMove';
  /** What was asked with is wrong, there is no such key, or it is in a state that forbids the move. */
  readonly kind: 'invalid' | 'missing' | 'conflict';
  /** The state that the key is in, where that is why. */
  readonly state: KeyState | undefined;

  constructor(message: string, kind: RefusedMove['kind'], state?: KeyState) {
    super(message);
    this.kind = kind;
    this.state = state;
  }
}

/** Who makes a move and when. */
export interface Review {
  /** The moderator's account; null: an operator at the command line. */
  readonly by: number | null;
  readonly at: Date;
  /** Where the pages are reached, for links in the mail; without a slash at the end. */
  readonly publicUrl: string;
}

/**
 * An approved key for an operator's own use, revealed at once.
 * @returns the raw key, which cannot be had again
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
      `INSERT INTO api_keys (purpose, website_url, state, limit_per_minute, key_hash, key_prefix,
         requested_at, reviewed_at, revealed_at)
       VALUES (?, '', 'approved', ?, ?, ?, ?, ?, ?)`,
      [note, limit, hashKey(key), key.slice(0, SHOWN_CHARACTERS), now, now, now],
    );
    await recordEvent(writer, { keyId: insertId, at, actorId: null, action: 'issued', limit });
    return insertId;
  });
  return { id, key };
}

/** Grants a pending request. Its owner reveals the key; until then there is none. */
export async function approveRequest(
  database: Database,
  id: number,
  { limit, by, at, publicUrl }: Review & { limit: number },
): Promise<void> {
  checkLimit(limit);
  await makeMove(database, id, {
    from: 'pending',
    to: 'approved',
    rule: 'only a pending request can be approved',
    changes: { limit_per_minute: limit, reviewed_at: toDatabaseTime(at), reviewed_by: by },
    event: { action: 'approved', actorId: by, at, limit },
    mail: { publicUrl, write: (news) => approvedMail(news, limit) },
  });
}

/** Turns a pending request down. @param reason what its owner is told */
export async function rejectRequest(
  database: Database,
  id: number,
  { reason: text, by, at, publicUrl }: Review & { reason: string },
): Promise<void> {
  const reason = readReason(text);
  await makeMove(database, id, {
    from: 'pending',
    to: 'rejected',
    rule: 'only a pending request can be rejected',
    changes: { reason, reviewed_at: toDatabaseTime(at), reviewed_by: by },
    event: { action: 'rejected', actorId: by, at, reason },
    mail: { publicUrl, write: (news) => rejectedMail(news, reason) },
  });
}

/** Ends an approved key for good. @param reason what its owner is told */
export async function revokeKey(
  database: Database,
  id: number,
  { reason: text, by, at, publicUrl }: Review & { reason: string },
): Promise<void> {
  const reason = readReason(text);
  await makeMove(database, id, {
    ...REVOKE,
    changes: { reason, revoked_at: toDatabaseTime(at) },
    event: { action: 'revoked', actorId: by, at, reason },
    mail: { publicUrl, write: (news) => revokedMail(news, reason) },
  });
}

/** Gives an approved key another limit, in requests a minute. */
export async function changeLimit(
  database: Database,
  id: number,
  { limit, by, at }: { limit: number; by: number | null; at: Date },
): Promise<void> {
  checkLimit(limit);
  await makeMove(database, id, {
    from: 'approved',
    to: 'approved',
    rule: 'only an approved key can get another limit',
    changes: { limit_per_minute: limit },
    event: { action: 'limit_changed', actorId: by, at, limit },
  });
}

export const REVOKE = {
  from: 'approved',
  to: 'revoked',
  rule: 'only an approved key can be revoked',
} as const;

export interface Move {
  readonly from: KeyState;
  readonly to: KeyState;
  /** Why a key in another state is left as it is. */
  readonly rule: string;
  /** Only a key of this account is there to be moved; undefined: any. */
  readonly ownedBy?: number | undefined;
  /** What else must hold, in SQL, and the sentence for where it does not. */
  readonly condition?: {
    readonly sql: string;
    readonly values?: Value[];
    readonly otherwise: string;
  };
  readonly changes: Readonly<Record<string, Value>>;
  readonly event: {
    readonly action: EventAction;
    readonly actorId: number | null;
    readonly at: Date;
    readonly reason?: string;
    readonly limit?: number;
  };
  /** What the owner is told, where the key has one. */
  readonly mail?: { readonly publicUrl: string; write(news: KeyNews): MailText };
}

/** @throws RefusedMove when the key is not there, in another state, or the condition does not hold */
export async function makeMove(database: Database, id: number, move: Move): Promise<void> {
  const { from, to, rule, ownedBy, condition, changes, event, mail } = move;
  const isMailed = mail !== undefined && (await hasAccounts(database));
  const columns = Object.keys(changes).map((column) => `, ${column} = ?`);
  await database.transaction(async (writer) => {
    const { changes: moved } = await writer.run(
      `UPDATE api_keys SET state = ?${columns.join('')} WHERE id = ? AND state = ?
       ${ownedBy === undefined ? '' : 'AND account_id = ?'}
       ${condition === undefined ? '' : `AND ${condition.sql}`}`,
      [
        to,
        ...Object.values(changes),
        id,
        from,
        ...(ownedBy === undefined ? [] : [ownedBy]),
        ...(condition?.values ?? []),
      ],
    );
    const [row] = await writer.rows('SELECT state, account_id FROM api_keys WHERE id = ?', [id]);
    const [state, accountId] = (row ?? []) as [KeyState?, (number | null)?];
    if (moved !== 1) {
      // Another account's key is told from none at all by nobody.
      if (state === undefined || (ownedBy !== undefined && accountId !== ownedBy)) {
        throw noSuchKey(id);
      }
      const why = state === from && condition ? condition.otherwise : `is ${state}: ${rule}`;
      throw new RefusedMove(`Key ${id} ${why}.`, 'conflict', state);
    }
    await recordEvent(writer, { keyId: id, ...event });
    if (!isMailed || accountId == null) return;
    const owner = await findAccount(writer, accountId);
    if (owner === undefined) return;
    await enqueueMail(writer, {
      ...mail.write({ keyId: id, owner, publicUrl: mail.publicUrl }),
      keyId: id,
      recipient: owner.email,
      at: event.at,
    });
  });
}

export function noSuchKey(id: number): RefusedMove {
  return new RefusedMove(`There is no key ${id}.`, 'missing');
}

export function noSuchAccount(id: number): RefusedMove {
  return new RefusedMove(`There is no account ${id}.`, 'missing');
}

/**
 * What people typed, as it is stored: without the blanks around it, its line breaks as \n, and a
 * blank for every other control character.
 */
export function cleanText(text: string): string {
  return text
    .toWellFormed()
    .replace(/\r\n?/g, '\n')
    .replace(/[^\P{Cc}\n\t]/gu, ' ')
    .trim();
}

export function checkLength(name: string, text: string): void {
  if (text.length <= LONGEST_TEXT) return;
  throw new RefusedMove(
    `${name} has ${text.length} characters; at most ${LONGEST_TEXT} are allowed.`,
    'invalid',
  );
}

function checkLimit(limit: number): void {
  if (Number.isInteger(limit) && limit >= 1 && limit <= LARGEST_LIMIT) return;
  throw new RefusedMove(
    `The limit must be a whole number from 1 to ${LARGEST_LIMIT}${Number.isNaN(limit) ? '' : `, not ${limit}`}.`,
    'invalid',
  );
}

function readReason(text: string): string {
  const reason = cleanText(text);
  if (reason === '') {
    throw new RefusedMove('The reason must not be empty: the owner is told it.', 'invalid');
  }
  checkLength('The reason', reason);
  return reason;
}
