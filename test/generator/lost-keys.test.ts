/** Keys that are lost with the database keep working, until an operator restores or removes them. */

import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { hashKey, makeKey } from '../../format/api-key.ts';
import { encodeKeys, type KeyEntry } from '../../format/keys-file.ts';
import { refuseLoss, writeKeys } from '../../generator/keys/export-keys.ts';
import { makeFolder } from '../support/product.ts';

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
