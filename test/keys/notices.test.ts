/** The mail that no action causes: the list for moderators. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { queueNotices } from '../../keys/lifecycle/notices.ts';
import { rejectRequest } from '../../keys/lifecycle/reviews.ts';
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
});
