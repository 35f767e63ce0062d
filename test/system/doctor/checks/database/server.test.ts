/** The database server as the doctor sees it: its clock, and its time zone. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database } from '../../../../../database/database.ts';
import { openDatabase } from '../../../../../database/open.ts';
import { databaseCheck, makeDatabaseAccess } from '../../../../../doctor/checks/database/server.ts';
import { loadCatalogue } from '../../../../catalogue/load.ts';
import { sampleCatalogue } from '../../../../catalogue/sample.ts';
import { examine, faultsIn } from '../../../../doctor/installation.ts';
import { type MariaDb, startMariaDb } from '../../../../support/servers/mariadb.ts';

let server: MariaDb;
let admin: Database;

beforeAll(async () => {
  server = await startMariaDb();
  admin = await openDatabase(await server.createDatabase('site'));
  await loadCatalogue(admin, sampleCatalogue());
  await admin.run("CREATE USER visitor IDENTIFIED BY 'secret'");
  await admin.run('GRANT SELECT ON site.* TO visitor');
});
afterAll(async () => {
  await admin.close();
  await server.stop();
});

const faults = async () =>
  faultsIn(
    await examine(databaseCheck(makeDatabaseAccess()), {
      DATABASE_URL: `mysql://visitor:secret@127.0.0.1:${server.port}/site`,
    }),
  );

test.each([
  [-120, 'error', /^The clock of the database server is 1(?:19|20|21) s behind the clock of this/],
  [10, 'warning', /^The clock of the database server is (?:9|10|11) s ahead of the clock of this/],
] as const)('a clock that is %i s off is an %s', async (seconds, level, text) => {
  // A statement that the server runs at the start of each session, except for those of administrators.
  await admin.run(`SET GLOBAL init_connect = 'SET timestamp = UNIX_TIMESTAMP() + ${seconds}'`);
  expect(await faults()).toMatchObject([{ level, text: expect.stringMatching(text) }]);
  await admin.run("SET GLOBAL init_connect = ''");
  expect(await faults()).toEqual([]);
});

test('another time zone than UTC is a warning, unless the column knows about it', async () => {
  await admin.run("SET GLOBAL time_zone = '+02:00'");
  expect(await faults()).toEqual([
    {
      level: 'warning',
      text: expect.stringMatching(/^The time zone of the database server is \+02:00\. /),
      fix: expect.stringContaining('CONVERT_TZ(approved_at'),
    },
  ]);
  await admin.run('ALTER TABLE covers MODIFY approved_at TIMESTAMP NULL');
  expect(await faults()).toEqual([]);
});
