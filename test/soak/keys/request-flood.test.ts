/** A flood of simultaneous requests for keys by one account leaves five under review. */
import { expect, test } from 'vitest';
import { MOST_PENDING, requestKey } from '../../../keys/lifecycle/own-keys.ts';
import { AT, openKeysDatabase } from '../../keys/keys-database.ts';
import { KINDS } from '../../support/databases.ts';
import { printFigure, rounds } from '../rounds.ts';

const AT_ONCE = 20;
const EACH = rounds(50, 500);

test.each(KINDS)('a flood of requests in a %s database leaves five under review', async (kind) => {
  const database = await openKeysDatabase(kind);
  const owner = await database.addOwner();
  let accepted = 0;
  const refusals = new Map<string, number>();
  const requestRepeatedly = async () => {
    for (let i = 0; i < EACH; i++) {
      const text = { purpose: `flood ${i}`, websiteUrl: 'https://tool.example' };
      await requestKey(database, { accountId: owner.id, at: AT, ...text }).then(
        () => accepted++,
        ({ kind: refusal }) => refusals.set(refusal, (refusals.get(refusal) ?? 0) + 1),
      );
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, requestRepeatedly));
  const refused = AT_ONCE * EACH - MOST_PENDING;
  expect([accepted, [...refusals]]).toEqual([MOST_PENDING, [['conflict', refused]]]);
  const counts = "SELECT COUNT(*) FROM api_keys WHERE state = 'pending' AND account_id = ?";
  expect(await database.rows(counts, [owner.id])).toEqual([[MOST_PENDING]]);
  printFigure('One account keeps nobody from the pages', `${refused} requests refused (${kind})`);
  await database.close();
});
