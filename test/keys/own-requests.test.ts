/** What owners do with pending requests: names and withdrawal. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findKey, listKeys } from '../../keys/lifecycle/key-lists.ts';
import {
  MOST_PENDING,
  type RequestText,
  renameKey,
  requestKey,
  withdrawRequest,
} from '../../keys/lifecycle/own-requests.ts';
import { AT, type KeysDatabase, openKeysDatabase } from './keys-database.ts';

const TEXT = { purpose: 'a tool', websiteUrl: 'https://tool.example' };

describe('a request', () => {
  let database: KeysDatabase;
  let accountId: number;
  beforeAll(async () => {
    database = await openKeysDatabase('sqlite');
    accountId = (await database.addOwner()).id;
  });
  afterAll(() => database.close());

  async function requested(text: Partial<RequestText> = {}) {
    const { id: owner } = await database.addOwner();
    const { id } = await requestKey(database, { accountId: owner, at: AT, ...TEXT, ...text });
    return { id, accountId: owner, at: AT };
  }

  it('makes room for another one when it is withdrawn', async () => {
    const send = () => requestKey(database, { accountId, at: AT, ...TEXT });
    const { id } = await send();
    for (let more = 1; more < MOST_PENDING; more++) await send();
    await expect(send()).rejects.toThrow('5 of your requests');
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
