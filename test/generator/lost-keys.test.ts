/** Keys that are lost with the database keep working, until an operator restores or removes them. */

import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { openDatabase } from '../../database/open.ts';
import { hashKey, makeKey } from '../../format/api-key.ts';
import { encodeKeys, type KeyEntry } from '../../format/keys-file.ts';
import { refuseLoss, writeKeys } from '../../generator/keys/export-keys.ts';
import { runKeys } from '../../keys/cli/run-keys.ts';
import { makeSampleSqlite } from '../catalogue/snapshots.ts';
import { end, makeFolder, runCommand, startProgram, until } from '../support/product.ts';

const entry = (id: number): KeyEntry => ({
  ...{ id, hash: hashKey(makeKey()), state: 'approved', limit: 120 },
});
const [first, second] = [entry(1), entry(2)];
const NONE = encodeKeys([]);
let snapshotsDir: string;
let file: string;

beforeEach(() => {
  snapshotsDir = path.join(makeFolder(), 'snapshots');
  mkdirSync(snapshotsDir, { mode: 0o700 });
  file = path.join(snapshotsDir, 'keys.json');
});

test.each([
  ['all are gone', NONE],
  ['others have their ids', encodeKeys([entry(1), entry(2)])],
])('nothing is exported if %s', (_, content) => {
  const before = encodeKeys([first, second]);
  writeKeys(before, snapshotsDir);
  const message = `none of the 2 keys in ${file}`;
  expect(() => writeKeys(content, snapshotsDir)).toThrow(message);
  expect(readFileSync(file, 'utf8')).toBe(before);
  rmSync(file);
  expect(writeKeys(content, snapshotsDir)).toBe(true);
});

test('nothing is exported if the table is gone', () => {
  refuseLoss(undefined, snapshotsDir);
  writeKeys(encodeKeys([first]), snapshotsDir);
  expect(() => refuseLoss(undefined, snapshotsDir)).toThrow('none of the 1 keys');
});

test.each([
  ['the only key is rotated', [first], [{ ...entry(1) }]],
  ['one of two keys is left', [first, second], [second]],
  ['there were no keys before', [], []],
  ['all keys are revoked', [first], [{ ...first, state: 'revoked' as const }]],
])('the keys are exported if %s', (_, before, after) => {
  writeKeys(encodeKeys(before), snapshotsDir);
  writeKeys(encodeKeys(after), snapshotsDir);
  expect(readFileSync(file, 'utf8')).toBe(encodeKeys(after));
});

test('the schedule says that the keys are lost, and keeps those that clients use', async () => {
  const variables = { DATABASE_URL: await makeSampleSqlite(), GENERATE_CRON: 'off' };
  const environment = { ...variables, SNAPSHOTS_DIR: snapshotsDir };
  const issued = await runCommand(runKeys, ['issue', '--note', 'A client'], variables);
  expect(issued.code, issued.stderr).toBe(0);
  const schedule = startProgram('generator/cli/schedule.ts', [], environment);
  let log = '';
  schedule.stderr?.setEncoding('utf8').on('data', (text) => {
    log += text;
  });
  try {
    await until(async () => existsSync(file));
    const before = readFileSync(file, 'utf8');
    const database = await openDatabase(variables.DATABASE_URL);
    await database.run('DROP TABLE api_keys', []);
    await database.close();
    await until(async () => log.includes('none of the 1 keys'));
    const listed = await runCommand(runKeys, ['list'], variables);
    expect(listed.code, listed.stderr).toBe(0);
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect(readFileSync(file, 'utf8')).toBe(before);
  } finally {
    await end(schedule, 'SIGTERM');
  }
});
