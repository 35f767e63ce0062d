/** The mails that no action causes: the list for moderators, and the notices about quotas and trials. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { queueNotices } from '../../keys/lifecycle/notices.ts';
import { revealKey } from '../../keys/lifecycle/own-keys.ts';
import { requestKey, withdrawRequest } from '../../keys/lifecycle/own-requests.ts';
import { approveRequest, rejectRequest } from '../../keys/lifecycle/reviews.ts';
import { KINDS } from '../support/databases.ts';
import { AT, type KeysDatabase, MODERATOR, openKeysDatabase, PUBLIC_URL } from './keys-database.ts';

const HOUR = 3_600_000;
const REVIEW = { by: MODERATOR, at: AT, publicUrl: PUBLIC_URL };

describe.each(KINDS)('a notice in a %s database', (kind) => {
  let database: KeysDatabase;
  beforeEach(async () => {
    database = await openKeysDatabase(kind);
  });
  afterEach(() => database.close());

  const look = (hours: number) =>
    queueNotices(database, { at: new Date(AT.getTime() + hours * HOUR), publicUrl: PUBLIC_URL });
  const mails = async () =>
    database.rows('SELECT recipient, subject, body FROM mail_outbox ORDER BY id');

  it('lists waiting requests for each moderator, once in 24 hours', async () => {
    await database.addOwner({ id: 901, email: 'mia@covers.example', role: 'moderator' });
    await database.addOwner({ id: 902, email: 'not an address', role: 'moderator' });
    const owner = await database.addOwner({ name: 'Ola\nOwner' });
    const first = await database.keyIn('pending', owner.id);
    await look(0.05);
    expect(await mails()).toEqual([]);
    await Promise.all([look(0.1), look(0.1), look(0.1)]);
    const sent = await mails();
    expect(sent.map(([to]) => to)).toEqual(['mod@covers.example', 'mia@covers.example']);
    expect(sent[0]?.[1]).toBe('1 request for an API key is waiting for your review');
    expect(sent[0]?.[2]).toContain(
      `Request ${first} by Ola Owner, 4 Mar 2026, 05:06 UTC:\n\n> a tool\n\n${PUBLIC_URL}/moderation/api-keys/${first}\n`,
    );
    const second = await database.keyIn('pending', owner.id);
    await look(1);
    await look(23.9);
    expect(await mails()).toHaveLength(2);
    await look(24.2);
    const [, , next] = await mails();
    expect(next?.[1]).toBe('2 requests for API keys are waiting for your review');
    // Nothing waits any more.
    for (const id of [first, second])
      await rejectRequest(database, id, { reason: 'no', ...REVIEW });
    const before = (await mails()).length;
    await look(60);
    expect(await mails()).toHaveLength(before);
  });

  it('tells an owner once a day that a key has used 80% of its quota', async () => {
    const owner = await database.addOwner();
    const id = await database.keyIn('pending', owner.id);
    await approveRequest(database, id, { limit: 60, dailyQuota: 10_000, ...REVIEW });
    const use = (day: string, run: string, requests: number) =>
      database.run('INSERT INTO key_usage VALUES (?, ?, ?, ?, 0, 5000, 0)', [
        ...[id, day, run, requests],
      ]);
    const before = (await mails()).length;
    await use('2026-03-03', 'a', 9_999);
    await use('2026-03-04', 'a', 7_999);
    await look(0);
    expect(await mails()).toHaveLength(before);
    // Another proxy.
    await use('2026-03-04', 'b', 124);
    await Promise.all([look(0), look(0.5)]);
    await look(10);
    const sent = (await mails()).slice(before);
    expect(sent).toHaveLength(1);
    expect(sent[0]?.slice(0, 2)).toEqual([
      owner.email,
      `API key ${id} has used 81% of its daily quota`,
    ]);
    expect(sent[0]?.[2]).toContain('has used 8,123 of its 10,000 requests for today');
    await use('2026-03-05', 'b', 10_000);
    await look(24);
    expect((await mails()).slice(before)).toHaveLength(2);
    await look(24 * 20);
    expect(await database.rows('SELECT name FROM sent_notices')).toEqual([]);
  });

  it('tells an owner once that a trial ends soon, unless a moderator has decided', async () => {
    const revealed = async () => {
      const owner = await database.addOwner();
      const text = { purpose: 'a tool', websiteUrl: 'https://tool.example' };
      const own = { accountId: owner.id, at: AT };
      const { id } = await requestKey(database, { ...own, ...text, trialLimit: 30 });
      await revealKey(database, { ...own, id });
      return { ...own, id, email: owner.email };
    };
    const [waiting, decided, withdrawn] = [await revealed(), await revealed(), await revealed()];
    await approveRequest(database, decided.id, { limit: 60, ...REVIEW });
    await withdrawRequest(database, withdrawn);
    const trialMails = async () =>
      (await mails()).filter(([, subject]) => String(subject).startsWith('The trial of'));
    const day = 24;
    await look(11.9 * day);
    expect(await trialMails()).toEqual([]);
    await Promise.all([look(12.1 * day), look(12.1 * day)]);
    for (const days of [12.5, 13.9, 14.5, 16]) await look(days * day);
    const [mail, ...others] = await trialMails();
    expect(others).toEqual([]);
    expect(mail?.slice(0, 2)).toEqual([
      waiting.email,
      `The trial of API key ${waiting.id} ends soon`,
    ]);
    expect(mail?.[2]).toContain('stops working on 18 Mar 2026, 05:06 UTC, unless a moderator');
  });

  it('says that a trial has ended if no program could say so before', async () => {
    const { id: accountId } = await database.addOwner();
    const text = { purpose: 'a tool', websiteUrl: 'https://tool.example', trialLimit: 30 };
    const { id } = await requestKey(database, { accountId, at: AT, ...text });
    await revealKey(database, { accountId, id, at: AT });
    await look(14.5 * 24);
    const [, subject, body] = (await mails()).at(-1) ?? [];
    expect(subject).toBe(`The trial of API key ${id} has ended`);
    expect(body).toContain('stopped working on 18 Mar 2026, 05:06 UTC, because no moderator');
    expect(body).toContain('the same key works again, with its full limit');
  });

  it('is not queued without accounts', async () => {
    await database.run('DROP TABLE accounts');
    await look(1);
    expect(await mails()).toEqual([]);
  });
});
