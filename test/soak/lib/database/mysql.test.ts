/** What a MariaDB server does with deadlocks, and with a program that is slow to take its rows. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { openDatabase } from '#lib/database/open.ts';
import { makeDatabase } from '#test/support/databases.ts';

it('repeats a transaction that lost a deadlock', async () => {
  const database = await openDatabase(await makeDatabase('mysql'));
  await database.run('CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL)');
  await database.run('INSERT INTO t VALUES (1, 0), (2, 0)');
  let begun = 0;
  const addInOrder = (ids: readonly [number, number], amount: number) =>
    database.transaction(async (writer) => {
      begun++;
      await writer.run('UPDATE t SET n = n + ? WHERE id = ?', [amount, ids[0]]);
      await sleep(300);
      await writer.run('UPDATE t SET n = n + ? WHERE id = ?', [amount, ids[1]]);
    });
  await Promise.all([addInOrder([1, 2], 1), addInOrder([2, 1], 10)]);
  expect(begun).toBe(3);
  expect(await database.rows('SELECT n FROM t ORDER BY id')).toEqual([[11], [11]]);
  await database.close();
});

it('does not count a slow onRow as silence of the server', async () => {
  const database = await openDatabase(await makeDatabase('mysql'), { stallSeconds: 1 });
  let seen = 0;
  const count = await database.each("SELECT REPEAT('x', 100) FROM seq_1_to_200000", () => {
    if (++seen % 100_000 === 1) blockFor(1500);
  });
  expect(count).toBe(200_000);
  await database.close();
});

function blockFor(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}
