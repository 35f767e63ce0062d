/**
 * The life of an API key, as moves on a row of `api_keys`:
 *
 *   pending ──approve──► approved ──(reveal, rotate, limit)──► approved ──revoke──► revoked
 *      └─────reject────► rejected
 *
 * A move is one UPDATE that names the state it starts from: of two at once, the first is made and the
 * second is refused. Its event and its mail are written in the same transaction.
 */
import type { Database, Reader, Value } from '../../database/database.ts';
import type { KeyState } from '../../format/api-key.ts';
import type { KeyNews, MailText } from '../mail/mail-texts.ts';
import { enqueueMail } from '../mail/outbox.ts';
import { findAccount, hasAccounts } from '../tables/accounts.ts';
import { type EventAction, recordEvent } from './history.ts';

/** A move was refused; the row is as it was. The message is for whoever asked for the move. */
export class RefusedMove extends Error {
  override readonly name = 'RefusedMove';
  /** The input is wrong, there is no such key, or its state forbids the move. */
  readonly kind: 'invalid' | 'missing' | 'conflict';

  constructor(message: string, kind: RefusedMove['kind']) {
    super(message);
    this.kind = kind;
  }
}

/** From which state to which, and why a key in another state is left as it is. */
interface Transition {
  readonly from: KeyState;
  readonly to: KeyState;
  readonly rule: string;
}

export const APPROVE: Transition = {
  from: 'pending',
  to: 'approved',
  rule: 'only a pending request can be approved',
};
export const REJECT: Transition = {
  from: 'pending',
  to: 'rejected',
  rule: 'only a pending request can be rejected',
};
export const REVOKE: Transition = {
  from: 'approved',
  to: 'revoked',
  rule: 'only an approved key can be revoked',
};
export const CHANGE_LIMIT: Transition = {
  from: 'approved',
  to: 'approved',
  rule: 'only an approved key can get another limit',
};

export interface Move extends Transition {
  /** Only a key of this account is moved; undefined: any. */
  readonly ownedBy?: number | undefined;
  /** What else must hold, in SQL, and the sentence for where it does not. */
  readonly condition?: {
    readonly sql: string;
    readonly values?: readonly Value[];
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
  const { to, from, ownedBy, condition, changes, event, mail } = move;
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
    if (moved !== 1) throw await refusalOf(writer, id, move);
    await recordEvent(writer, { keyId: id, ...event });
    if (!isMailed) return;
    const [row] = await writer.rows('SELECT account_id FROM api_keys WHERE id = ?', [id]);
    const accountId = row?.[0] ?? null;
    const owner = accountId === null ? undefined : await findAccount(writer, Number(accountId));
    if (owner === undefined) return;
    await enqueueMail(writer, {
      ...mail.write({ keyId: id, owner, publicUrl: mail.publicUrl }),
      keyId: id,
      recipient: owner.email,
      at: event.at,
    });
  });
}

/** Why the row was not moved. */
async function refusalOf(
  reader: Reader,
  id: number,
  { from, rule, ownedBy, condition }: Move,
): Promise<RefusedMove> {
  const [row] = await reader.rows('SELECT state, account_id FROM api_keys WHERE id = ?', [id]);
  // Nobody can tell another account's key from one that does not exist.
  if (row === undefined || (ownedBy !== undefined && row[1] !== ownedBy)) return noSuchKey(id);
  const why =
    row[0] === from && condition !== undefined ? condition.otherwise : `is ${row[0]}: ${rule}`;
  return new RefusedMove(`Key ${id} ${why}.`, 'conflict');
}

export function noSuchKey(id: number): RefusedMove {
  return new RefusedMove(`There is no key ${id}.`, 'missing');
}

export function noSuchAccount(id: number): RefusedMove {
  return new RefusedMove(`There is no account ${id}.`, 'missing');
}
