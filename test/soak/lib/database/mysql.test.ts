/** What a server does with a program that is slow to take its rows, and how it lets programs in. */
import { expect, it } from 'vitest';
import { openDatabase } from '#lib/database/open.ts';
import { makeDatabase, makeDatabaseUser, selectMany } from '#test/support/databases.ts';

it('does not count a slow onRow as silence of the server', async () => {
  const database = await openDatabase(await makeDatabase('mysql'), { stallSeconds: 1 });
  let seen = 0;
  const count = await database.each(selectMany(5, "REPEAT('x', 200)"), () => {
    if (++seen % 50_000 === 1) blockFor(1500);
  });
  expect(count).toBe(100_000);
  await database.close();
});

/** MariaDB writes no binary log by default, and its clients send a hash of the password. */
const BY_DEFAULT = {
  mariadb: [0, 'mysql_native_password'],
  mysql: [1, 'caching_sha2_password'],
};

it('lets a new user in without TLS, by its default way to log in and with its default binary log', async () => {
  const url = await makeDatabase('mysql');
  const user = await makeDatabaseUser(url);
  await user.grant('SELECT ON *');
  for (const address of [url, user.url, user.url]) {
    const database = await openDatabase(address);
    const [[, cipher] = []] = await database.rows("SHOW SESSION STATUS LIKE 'Ssl_cipher'");
    expect(cipher).toBe('');
    await database.close();
  }
  const admin = await openDatabase(url);
  const [how] = await admin.rows('SELECT @@log_bin, plugin FROM mysql.user WHERE user = ?', [
    user.name,
  ]);
  const product = (process.env.TEST_DATABASE ?? 'mariadb') as keyof typeof BY_DEFAULT;
  expect(how).toEqual(BY_DEFAULT[product]);
  await admin.close();
});

function blockFor(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}
