/**
 * The life of an API key, as transitions of a row of `api_keys` from one state to another:
 *
 *   pending ──approve──► approved ──(reveal, rotate, limit)──► approved ──revoke──► revoked
 *      │
 *      ├─────grant─────► granted (a request for a higher limit, which another key has got)
 *      ├─────reject────► rejected
 *      └────withdraw───► withdrawn
 *
 * A transition is one UPDATE with the state that the key must have before. If two programs try the same
 * transition at once, one succeeds and the other is refused. The event and the mail of a transition are
 * written in the same transaction.
 */
import type { Database, Reader, Value, Writer } from '../../lib/database/database.ts';
import type { KeyState } from '../../lib/format/api-key.ts';
import type { KeyNews, MailText } from '../mail/mail-texts.ts';
import { enqueueMail } from '../mail/outbox.ts';
import { findAccount, hasAccounts, withAccountLock } from '../tables/accounts.ts';
import { type AccountId, marks, toAccountId } from '../tables/values.ts';
import { type EventAction, recordEvent, refuseManyChanges } from './history.ts';
import { noSuchKey, Refusal } from './refusal.ts';

/** The states before and after a transition. */
interface StateChange {
  readonly from: readonly KeyState[];
  /** Undefined if the state stays. */
  readonly to?: KeyState | undefined;
  /** The end of the error for a key in another state. */
  readonly rule: string;
}

export const APPROVE: StateChange = {
  from: ['pending'],
  to: 'approved',
  rule: 'only a pending request can be approved',
};
export const GRANT: StateChange = { ...APPROVE, to: 'granted' };
export const REJECT: StateChange = {
  from: ['pending'],
  to: 'rejected',
  rule: 'only a pending request can be rejected',
};
export const REVOKE: StateChange = {
  from: ['approved'],
  to: 'revoked',
  rule: 'only an approved key can be revoked',
};
export const WITHDRAW: StateChange = {
  from: ['pending'],
  to: 'withdrawn',
  rule: 'only a pending request can be withdrawn',
};
export const RENAME: StateChange = {
  from: ['pending', 'approved'],
  rule: 'only a key that is in use, or a pending request, can get another name',
};
export const END_OLD_KEY: StateChange = {
  from: ['approved'],
  rule: 'only an approved key can have an old key',
};
export const CHANGE_LIMIT: StateChange = {
  from: ['approved'],
  rule: 'only an approved key can get another limit',
};

/** A transition with everything that is written with it. */
export interface Transition extends StateChange {
  /** The account that acts on its own key; undefined if somebody else acts on any key. */
  readonly ownedBy?: AccountId | undefined;
  /** A further condition. */
  readonly condition?: {
    readonly sql: string;
    readonly values?: readonly Value[];
    /** The end of the error for a key that does not meet the condition: "Key 1 …". */
    readonly otherwise: string;
  };
  readonly changes: Readonly<Record<string, Value>>;
  /** What else is written in the transaction, before the changes. */
  readonly first?: (writer: Writer) => Promise<void>;
  /** What else is written in the transaction, after the changes. */
  readonly last?: (writer: Writer) => Promise<void>;
  readonly event: {
    readonly action: EventAction;
    readonly actorId: AccountId | null;
    readonly at: Date;
    readonly reason?: string | undefined;
    readonly limit?: number;
  };
  /** Writes the mail to the owner, if the key has an owner. */
  readonly mail?: { readonly publicUrl: string; write(news: KeyNews): MailText };
}

/**
 * @throws Refusal if the key does not exist, has another state, or does not meet the condition, or if its
 * owner has made too many changes
 */
export async function applyTransition(
  database: Database,
  id: number,
  transition: Transition,
): Promise<void> {
  const { from, to, ownedBy, condition, changes, event, mail } = transition;
  const isMailed = mail !== undefined && (await hasAccounts(database));
  const columns = Object.keys(changes).map((column) => `, ${column} = ?`);
  const write = async (writer: Writer) => {
    await transition.first?.(writer);
    const { changes: changedRows } = await writer.run(
      `UPDATE api_keys SET state = COALESCE(?, state)${columns.join('')}
       WHERE id = ? AND state IN (${marks(from)})
       ${ownedBy === undefined ? '' : 'AND account_id = ?'}
       ${condition === undefined ? '' : `AND ${condition.sql}`}`,
      [
        to ?? null,
        ...Object.values(changes),
        id,
        ...from,
        ...(ownedBy === undefined ? [] : [ownedBy]),
        ...(condition?.values ?? []),
      ],
    );
    if (changedRows !== 1) throw await refusalOf(writer, id, transition);
    await transition.last?.(writer);
    await recordEvent(writer, { keyId: id, ...event });
    if (!isMailed) return;
    const news = await readNews(writer, id, mail.publicUrl);
    if (news === undefined) return;
    const recipient = news.owner.email;
    await enqueueMail(writer, { ...mail.write(news), keyId: id, recipient, at: event.at });
  };
  // Moderators and operators may make any number of changes.
  if (ownedBy === undefined) return database.transaction(write);
  // Checked before the lock as well, so that a flood of changes is refused without waiting for it.
  await refuseManyChanges(database, ownedBy, event.at);
  await withAccountLock(database, ownedBy, async (writer) => {
    await refuseManyChanges(writer, ownedBy, event.at);
    await write(writer);
  });
}

/**
 * The facts for a mail to the owner of a key.
 * @returns undefined if the key has no owner
 */
async function readNews(
  reader: Reader,
  keyId: number,
  publicUrl: string,
): Promise<KeyNews | undefined> {
  const sql = 'SELECT account_id, name, limit_of FROM api_keys WHERE id = ?';
  const [[accountId, name, limitOf] = []] = await reader.rows(sql, [keyId]);
  const owner = accountId == null ? undefined : await findAccount(reader, toAccountId(accountId));
  const facts = { name: name as string | null, limitOf: limitOf as number | null };
  return owner && { keyId, ...facts, owner, publicUrl };
}

/** The reason why no row was changed. */
async function refusalOf(
  reader: Reader,
  id: number,
  { from, rule, ownedBy, condition }: Transition,
): Promise<Refusal> {
  const [row] = await reader.rows('SELECT state, account_id FROM api_keys WHERE id = ?', [id]);
  // The error is the same for another account's key, so that nobody learns whether such a key exists.
  if (row === undefined || (ownedBy !== undefined && row[1] !== ownedBy)) return noSuchKey(id);
  const why =
    condition !== undefined && from.some((state) => state === row[0])
      ? condition.otherwise
      : `is ${row[0]}: ${rule}`;
  return new Refusal(`Key ${id} ${why}.`, 'conflict');
}
