/** What a server does with a program that is slow to take its rows. */
import { expect, it } from 'vitest';
import { openDatabase } from '#lib/database/open.ts';
import { makeDatabase, selectMany } from '#test/support/databases.ts';

it('does not count a slow onRow as silence of the server', async () => {
  const database = await openDatabase(await makeDatabase('mysql'), { stallSeconds: 1 });
  let seen = 0;
  await database.each(selectMany(5, "REPEAT('x', 200)"), () => {
    if (++seen % 50_000 === 1) blockFor(1500);
  });
  expect(seen).toBe(100_000);
  await database.close();
});

function blockFor(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}
