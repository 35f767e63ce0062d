/** What a server does with a program that is slow to take its rows, or that connects without TLS. */
import { expect, it } from 'vitest';
import { openDatabase } from '#lib/database/open.ts';
import { change, makeDatabase, selectMany } from '#test/support/databases.ts';
import { startDatabaseServer } from '#test/support/servers/database-server.ts';

it('does not count a slow onRow as silence of the server', async () => {
  const database = await openDatabase(await makeDatabase('mysql'), { stallSeconds: 1 });
  let seen = 0;
  await database.each(selectMany(5, "REPEAT('x', 200)"), () => {
    if (++seen % 50_000 === 1) blockFor(1500);
  });
  expect(seen).toBe(100_000);
  await database.close();
});

it('says that it demands TLS', async () => {
  const server = await startDatabaseServer();
  const url = await server.createDatabase('test');
  await change(url, 'SET GLOBAL require_secure_transport = ON');
  await expect(openDatabase(url)).rejects.toThrow('TLS: append ?ssl=true to DATABASE_URL');
  await server.stop();
});

function blockFor(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}
