/** The check of the tables of API keys: no fix may stop keys that clients use. */

import path from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { openDatabase } from '../../../../database/open.ts';
import { keys } from '../../../../doctor/checks/database/keys.ts';
import { proxy } from '../../../../doctor/checks/running.ts';
import { runKeys } from '../../../../keys/cli/run-keys.ts';
import { createKeysTables } from '../../../../keys/tables/schema.ts';
import { makeSampleSqlite } from '../../../catalogue/snapshots.ts';
import { makeDatabase } from '../../../support/databases.ts';
import {
  generate,
  makeFolder,
  runCommand,
  startProxy,
  testKey,
  writeKeys,
} from '../../../support/product.ts';
import { examine, faultsIn } from '../../installation.ts';

const RESTORE =
  /^Stop schedule, then restore the backup: see operations\/runbooks\/database-lost\.md/;
let variables: Record<'DATABASE_URL' | 'SNAPSHOTS_DIR', string>;
const programs = ['schedule'] as const;

beforeEach(async () => {
  variables = {
    DATABASE_URL: await makeSampleSqlite(),
    SNAPSHOTS_DIR: makeFolder(),
  };
});

async function createTables(): Promise<void> {
  const database = await openDatabase(variables.DATABASE_URL);
  await createKeysTables(database);
  await database.close();
}

test('tables that are gone while keys of keys.json work are an error, and nobody is told to create them', async () => {
  variables.DATABASE_URL = await makeDatabase('sqlite');
  const none = await examine(keys, variables, { programs });
  expect(none).toMatchObject([{ level: 'skipped', fix: expect.stringContaining('keys list') }]);
  writeKeys(variables.SNAPSHOTS_DIR, [testKey(1), testKey(2), { ...testKey(3), state: 'revoked' }]);
  const gone = await examine(keys, variables, { programs });
  expect(gone).toEqual([
    {
      level: 'error',
      text: 'The tables of API keys are gone, but 2 keys of keys.json still work.',
      fix: expect.stringMatching(RESTORE),
    },
  ]);
  expect(gone[0]?.fix).not.toContain('keys list');
  await createTables();
  expect(await examine(keys, variables, { programs })).toContainEqual({
    level: 'error',
    text: 'The table api_keys has no keys, but 2 keys of keys.json still work.',
    fix: expect.stringMatching(RESTORE),
  });
});

test('a keys.json without the keys of the table is a warning', async () => {
  const issued = await runCommand(runKeys, ['issue'], variables);
  expect(issued.code).toBe(0);
  for (const write of [() => {}, () => writeKeys(variables.SNAPSHOTS_DIR, [])]) {
    write();
    expect(faultsIn(await examine(keys, variables, { programs }))).toContainEqual({
      level: 'warning',
      text: expect.stringContaining('api_keys has 1 keys that should work, but keys.json has none'),
      fix: expect.stringContaining('schedule'),
    });
  }
});

test('a proxy without any key is a warning', async () => {
  const folder = path.join(makeFolder(), 'snapshots');
  await generate(variables.DATABASE_URL, folder);
  writeKeys(folder, []);
  const running = await startProxy(folder);
  const found = await examine(proxy, {
    SNAPSHOTS_DIR: folder,
    ADMIN_PORT: new URL(running.adminUrl).port,
  });
  expect(faultsIn(found)).toMatchObject([
    { level: 'warning', text: expect.stringContaining('knows no keys') },
  ]);
  await running.stop();
});
