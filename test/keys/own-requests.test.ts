/** What owners do with pending requests: wanted limit, name, edits and withdrawal. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findKey, listKeys } from '../../keys/lifecycle/key-lists.ts';
import {
  editRequest,
  type RequestText,
  renameKey,
  requestKey,
  withdrawRequest,
} from '../../keys/lifecycle/own-requests.ts';
import { approveRequest } from '../../keys/lifecycle/reviews.ts';
import { KINDS } from '../support/databases.ts';
import { AT, type KeysDatabase, MODERATOR, openKeysDatabase, PUBLIC_URL } from './keys-database.ts';

const TEXT = { purpose: 'a tool', websiteUrl: 'https://tool.example' };

describe.each(KINDS)('a request in a %s database', (kind) => {
  let database: KeysDatabase;
  let accountId: number;
  beforeAll(async () => {
    database = await openKeysDatabase(kind);
    accountId = (await database.addOwner()).id;
  });
  afterAll(() => database.close());

  async function requested(text: Partial<RequestText> = {}) {
    const { id: owner } = await database.addOwner();
    const { id } = await requestKey(database, { accountId: owner, at: AT, ...TEXT, ...text });
    return { id, accountId: owner, at: AT };
  }

  it('has the limit that its owner wants, which the moderator may change', async () => {
    const { id } = await requested({ wantedLimit: 600 });
    expect(await findKey(database, id)).toMatchObject({ wanted_limit: 600, edits: 0 });
    const review = { by: MODERATOR, at: AT, publicUrl: PUBLIC_URL };
    await approveRequest(database, id, { limit: 300, ...review });
    expect(await findKey(database, id)).toMatchObject({ wanted_limit: 600, limit_per_minute: 300 });
    for (const wantedLimit of [0, 1.5, 1_000_001, Number.NaN]) {
      await expect(requested({ wantedLimit })).rejects.toThrow('a whole number from 1 to 1000000');
    }
  });

  it('is edited as a whole, and is then not approved as it was before', async () => {
    const own = await requested();
    const review = { limit: 5, by: MODERATOR, at: AT, publicUrl: PUBLIC_URL };
    await editRequest(database, { ...own, ...TEXT, purpose: 'other', wantedLimit: 9, name: 'N' });
    expect(await findKey(database, own.id)).toMatchObject({
      purpose: 'other',
      wanted_limit: 9,
      name: 'N',
      edits: 1,
      state: 'pending',
    });
    await expect(approveRequest(database, own.id, { ...review, edits: 0 })).rejects.toThrow(
      `Key ${own.id} was edited by its owner in the meantime; read it again, then decide.`,
    );
    await approveRequest(database, own.id, { ...review, edits: 1 });
  });

  it('refuses an edit that would be refused as a request, and keeps its text', async () => {
    const own = await requested();
    for (const [changes, message] of [
      [{ purpose: ' ' }, 'Say what you are building'],
      [{ websiteUrl: 'javascript:alert(1)' }, 'http or https'],
      [{ wantedLimit: 0 }, 'The limit must be'],
      [{ name: 'x'.repeat(61) }, 'has 61 characters; at most 60'],
    ] as const) {
      await expect(editRequest(database, { ...own, ...TEXT, ...changes })).rejects.toThrow(message);
    }
    expect(await findKey(database, own.id)).toMatchObject({ purpose: 'a tool', edits: 0 });
  });

  it('makes room for another one when it is withdrawn', async () => {
    const send = () => requestKey(database, { accountId, at: AT, ...TEXT });
    const [{ id }] = [await send(), await send(), await send()];
    await expect(send()).rejects.toThrow('3 of your requests');
    await withdrawRequest(database, { id, accountId, at: AT });
    expect((await send()).id).toBeGreaterThan(id);
    expect(await listKeys(database, { state: 'withdrawn' })).toMatchObject([{ id }]);
  });

  it.each([
    ['  Shelf\r\n app ', 'Shelf app'],
    ['', null],
    [' \u200b\u2060 ', null],
    ['\u202eevil\u2066', 'evil'],
    ['<b>&amp;</b>', '<b>&amp;</b>'],
    ['👩‍👩‍👧 ключ', '👩‍👩‍👧 ключ'],
    ['x'.repeat(60), 'x'.repeat(60)],
  ])('gets the name %j as %j', async (typed, name) => {
    const own = await requested({ name: 'before' });
    await renameKey(database, { ...own, name: typed });
    expect(await findKey(database, own.id)).toMatchObject({ name });
  });
});
