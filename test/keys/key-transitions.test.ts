/** The states of a key and the transitions between them: which are allowed, to whom, and their effects. */
import { beforeEach, describe, expect, it } from 'vitest';
import { eventsOf } from '#keys/lifecycle/history.ts';
import { findKeyWithAccount } from '#keys/lifecycle/key-lists.ts';
import {
  endOwnOldKey,
  renameKey,
  revealKey,
  revokeOwnKey,
  rotateKey,
  withdrawRequest,
} from '#keys/lifecycle/own-keys.ts';
import {
  approveRequest,
  changeLimit,
  issueKey,
  rejectRequest,
  revokeKey,
} from '#keys/lifecycle/reviews.ts';
import type { Account } from '#keys/tables/accounts.ts';
import type { AccountId } from '#keys/tables/values.ts';
import { hashKey, isWellFormedKey } from '#lib/format/api-key.ts';
import { KINDS } from '#test/support/databases.ts';
import {
  AT,
  type KeysDatabase,
  MODERATOR,
  openKeysDatabase,
  PUBLIC_URL,
  REVIEW,
  STATES,
  type TestState,
} from './keys-database.ts';

const ownOf = (id: number, accountId: AccountId) => ({
  id,
  accountId,
  at: AT,
  publicUrl: PUBLIC_URL,
});

interface Action {
  /** The states in which the action succeeds. */
  readonly from: readonly TestState[];
  /** Undefined if the state stays. */
  readonly to?: string;
  readonly event: string;
  readonly isMailed?: boolean;
  /** The end of the refusal's text, which follows the state of the key. */
  readonly rule: string;
  /** The end of the refusal's text for an approved key, if the action is not allowed for it. */
  readonly ruleIfApproved?: string;
  act(database: KeysDatabase, id: number, accountId: AccountId): Promise<unknown>;
}

const ACTIONS: Readonly<Record<string, Action>> = {
  approve: {
    from: ['pending'],
    to: 'approved',
    event: 'approved',
    isMailed: true,
    rule: 'only a pending request can be approved',
    act: (database, id) => approveRequest(database, id, { limit: 90, ...REVIEW }),
  },
  reject: {
    from: ['pending'],
    to: 'rejected',
    event: 'rejected',
    isMailed: true,
    rule: 'only a pending request can be rejected',
    act: (database, id) => rejectRequest(database, id, { reason: 'no', ...REVIEW }),
  },
  reveal: {
    from: ['approved'],
    to: 'approved',
    event: 'revealed',
    rule: 'only an approved key can be revealed',
    ruleIfApproved: 'was revealed before, and is shown only once; rotate it if it is lost',
    act: (database, ...of) => revealKey(database, ownOf(...of)),
  },
  rotate: {
    from: ['revealed'],
    to: 'approved',
    event: 'rotated',
    isMailed: true,
    rule: 'only an approved key can be rotated',
    ruleIfApproved: 'was not revealed yet, so there is nothing to rotate',
    act: (database, ...of) => rotateKey(database, ownOf(...of)),
  },
  withdraw: {
    from: ['pending'],
    to: 'withdrawn',
    event: 'withdrawn',
    rule: 'only a pending request can be withdrawn',
    act: (database, ...of) => withdrawRequest(database, ownOf(...of)),
  },
  rename: {
    from: ['pending', 'approved', 'revealed'],
    event: 'renamed',
    rule: 'only a key that is in use, or a pending request, can get another name',
    act: (database, ...of) => renameKey(database, { ...ownOf(...of), name: 'Shelf' }),
  },
  'change the limit': {
    from: ['approved', 'revealed'],
    to: 'approved',
    event: 'limit_changed',
    rule: 'only an approved key can get another limit',
    act: (database, id) => changeLimit(database, id, { limit: 91, by: MODERATOR, at: AT }),
  },
  revoke: {
    from: ['approved', 'revealed'],
    to: 'revoked',
    event: 'revoked',
    isMailed: true,
    rule: 'only an approved key can be revoked',
    act: (database, id) => revokeKey(database, id, { reason: 'abuse', ...REVIEW }),
  },
  'revoke as its owner': {
    from: ['approved', 'revealed'],
    to: 'revoked',
    event: 'revoked',
    isMailed: true,
    rule: 'only an approved key can be revoked',
    act: (database, ...of) => revokeOwnKey(database, ownOf(...of)),
  },
  'end the old key as its owner, without one,': {
    from: [],
    event: 'old_key_ended',
    rule: 'only an approved key can have an old key',
    ruleIfApproved: 'has no old key that still works',
    act: (database, ...of) => endOwnOldKey(database, ownOf(...of)),
  },
};
const PAIRS = STATES.flatMap((state) =>
  Object.entries(ACTIONS).map(([name, action]) => ({ state, name, action })),
);
const ALLOWED = PAIRS.filter(({ state, action }) => action.from.includes(state));
const REFUSED = PAIRS.filter(({ state, action }) => !action.from.includes(state));

describe.each(KINDS)('a key in a %s database', async (kind) => {
  const database = await openKeysDatabase(kind);

  const rowOf = async (id: number) =>
    (await database.rows('SELECT * FROM api_keys WHERE id = ?', [id]))[0];
  const hashOf = async (id: number) =>
    (await database.rows('SELECT key_hash FROM api_keys WHERE id = ?', [id]))[0]?.[0];
  const keyOf = (id: number) => findKeyWithAccount(database, id);
  const actionsOf = async (id: number) =>
    (await eventsOf(database, id)).map(({ action }) => action);
  const mailsAbout = (id: number) =>
    database.rows('SELECT recipient, subject FROM mail_outbox WHERE key_id = ? ORDER BY id', [id]);
  /** Everything that a transition writes about a key. */
  const all = async (id: number) => [
    await rowOf(id),
    await eventsOf(database, id),
    await mailsAbout(id),
  ];

  it('gets only one of many simultaneous decisions; the others are refused with its state', async () => {
    const owner = await database.addOwner();
    for (let round = 0; round < 5; round++) {
      const id = await database.keyIn('pending', owner.id);
      const decisions = await Promise.allSettled(
        [1, 2, 3, 4].map((number) =>
          number % 2 === 0
            ? approveRequest(database, id, { limit: number, ...REVIEW })
            : rejectRequest(database, id, { reason: `no ${number}`, ...REVIEW }),
        ),
      );
      const refusals = decisions.flatMap((decision) =>
        decision.status === 'rejected' ? [String(decision.reason.message)] : [],
      );
      const state = (await keyOf(id))?.state;
      expect(refusals).toHaveLength(3);
      for (const text of refusals) expect(text).toMatch(`Key ${id} is ${state}: only a pending`);
      expect(await actionsOf(id)).toEqual(['requested', state]);
      expect(await mailsAbout(id)).toHaveLength(1);
    }
  });

  describe('that is approved', () => {
    let owner: Account;
    beforeEach(async () => {
      owner = await database.addOwner();
    });
    const own = (id: number) => ownOf(id, owner.id);

    it('is revealed once, however many reveal it at the same time, and only its hash and first characters are stored', async () => {
      for (let round = 0; round < 5; round++) {
        const id = await database.keyIn('approved', owner.id);
        const reveals = await Promise.allSettled(
          [1, 2, 3, 4].map(() => revealKey(database, own(id))),
        );
        const [key, ...others] = reveals.flatMap((reveal) =>
          reveal.status === 'fulfilled' ? [reveal.value.key] : [],
        );
        expect([isWellFormedKey(key), others]).toEqual([true, []]);
        expect(await hashOf(id)).toBe(hashKey(key));
        expect((await keyOf(id))?.key_prefix).toBe(key.slice(0, 8));
        expect(await actionsOf(id)).toEqual(['requested', 'approved', 'revealed']);
      }
    });

    it('is replaced by each rotation, while its limit and history are kept', async () => {
      const id = await database.keyIn('approved', owner.id);
      const keys: { key: string }[] = [await revealKey(database, own(id))];
      for (let i = 0; i < 3; i++) keys.push(await rotateKey(database, own(id)));
      expect(new Set(keys.map(({ key }) => key)).size).toBe(4);
      expect(await hashOf(id)).toBe(hashKey(keys[3]?.key as string));
      expect((await keyOf(id))?.limit_per_minute).toBe(60);
      expect((await actionsOf(id)).slice(3)).toEqual(['rotated', 'rotated', 'rotated']);
    });

    it('is rotated only once by a form that is sent repeatedly', async () => {
      const id = await database.keyIn('approved', owner.id);
      const { key } = await revealKey(database, own(id));
      const prefix = key.slice(0, 8);
      const rotations = await Promise.allSettled(
        [1, 2, 3].map(() => rotateKey(database, { ...own(id), prefix })),
      );
      expect(rotations.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      const again = rotateKey(database, { ...own(id), prefix });
      await expect(again).rejects.toThrow('was rotated in the meantime');
    });

    it('can be revoked permanently; its hash is kept so that the proxy refuses it', async () => {
      const id = await database.keyIn('revealed', owner.id);
      const hash = await hashOf(id);
      await revokeOwnKey(database, own(id));
      expect(await keyOf(id)).toMatchObject({
        state: 'revoked',
        reason: null,
        revoked_at: '2026-03-04 05:06:07',
      });
      expect(await hashOf(id)).toBe(hash);
    });
  });

  // The rest does not depend on the database.
  if (kind === 'mysql') return;

  it.each(ALLOWED)('allows "$name" if it is $state', async ({ state, action }) => {
    const owner = await database.addOwner();
    const id = await database.keyIn(state, owner.id);
    const events = await eventsOf(database, id);
    const mails = await mailsAbout(id);
    await action.act(database, id, owner.id);
    const stored = state === 'revealed' ? 'approved' : state;
    expect((await keyOf(id))?.state).toBe(action.to ?? stored);
    expect((await eventsOf(database, id)).slice(events.length)).toEqual([
      expect.objectContaining({ action: action.event, at: '2026-03-04 05:06:07' }),
    ]);
    expect((await mailsAbout(id)).slice(mails.length)).toEqual(
      action.isMailed ? [[owner.email, expect.stringContaining(String(id))]] : [],
    );
  });

  it.each(REFUSED)(
    'does not allow "$name" if it is $state, and stays unchanged',
    async ({ state, action }) => {
      const owner = await database.addOwner();
      const id = await database.keyIn(state, owner.id);
      const before = await all(id);
      const stored = state === 'revealed' ? 'approved' : state;
      const ofApproved = stored === 'approved' ? action.ruleIfApproved : undefined;
      const rule = ofApproved ?? `is ${stored}: ${action.rule}`;
      await expectRefusal(action.act(database, id, owner.id), 'conflict', `Key ${id} ${rule}.`);
      expect(await all(id)).toEqual(before);
    },
  );

  it.each(Object.entries(ACTIONS))(
    'does not allow "%s" if it does not exist',
    async (_, { act }) => {
      await expectRefusal(act(database, 999_999, 1), 'missing', 'There is no key 999999.');
    },
  );

  it.each(
    Object.entries(ACTIONS).filter(([name]) => /reveal|rotate|owner|withdraw|rename/.test(name)),
  )('does not allow "%s" to another account, as if it did not exist', async (_, { act }) => {
    const owner = await database.addOwner();
    const stranger = await database.addOwner();
    for (const state of STATES) {
      const id = await database.keyIn(state, owner.id);
      const before = await all(id);
      await expectRefusal(act(database, id, stranger.id), 'missing', `There is no key ${id}.`);
      expect(await all(id)).toEqual(before);
      if (state === 'pending') await rejectRequest(database, id, { reason: 'done', ...REVIEW });
    }
  });

  it.each([0, -1, 1.5, 1_000_001, Number.NaN])('cannot get the limit %d', async (limit) => {
    const owner = await database.addOwner();
    const id = await database.keyIn('pending', owner.id);
    for (const refused of [
      approveRequest(database, id, { limit, ...REVIEW }),
      changeLimit(database, id, { limit, by: MODERATOR, at: AT }),
      issueKey(database, { limit, purpose: '', at: AT }),
    ]) {
      const text = expect.stringContaining('a whole number from 1 to 1000000');
      await expectRefusal(refused, 'invalid', text);
    }
    expect((await keyOf(id))?.state).toBe('pending');
  });

  it('may get every limit from 1 to 1,000,000', async () => {
    const owner = await database.addOwner();
    for (const limit of [1, 1_000_000]) {
      const id = await database.keyIn('pending', owner.id);
      await approveRequest(database, id, { limit, ...REVIEW });
      expect(await keyOf(id)).toMatchObject({ limit_per_minute: limit });
      const issued = await issueKey(database, { limit, purpose: '', at: AT });
      await changeLimit(database, issued.id, { limit: 1_000_001 - limit, by: null, at: AT });
      expect(await keyOf(issued.id)).toMatchObject({
        limit_per_minute: 1_000_001 - limit,
      });
    }
  });

  it.each([
    ['', 'Write a reason'],
    [' \r\n\t\u0000 ', 'Write a reason'],
    ['x'.repeat(5001), '5001 characters; at most 5000'],
  ])('is not rejected or revoked for the reason %j', async (reason, message) => {
    const owner = await database.addOwner();
    const pending = await database.keyIn('pending', owner.id);
    const approved = await database.keyIn('approved', owner.id);
    for (const refused of [
      rejectRequest(database, pending, { reason, ...REVIEW }),
      revokeKey(database, approved, { reason, ...REVIEW }),
    ]) {
      await expectRefusal(refused, 'invalid', expect.stringContaining(message));
    }
    expect(await eventsOf(database, pending)).toHaveLength(1);
  });
});

async function expectRefusal(action: Promise<unknown>, kind: string, message: unknown) {
  await expect(action).rejects.toMatchObject({ name: 'Refusal', kind, message });
}
