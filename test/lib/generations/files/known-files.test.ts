/** Which files need not be hashed again. */
import { hash } from 'node:crypto';
import { statSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { makeKnownFiles } from '#lib/generations/files/checked-files.ts';
import { makeFolder } from '#test/support/product.ts';

const file = { path: 'a.json', size: 5, sha256: hash('sha256', 'first') };
let dir: string;
let now: number;
let isKnown: ReturnType<typeof makeKnownFiles>;
beforeEach(() => {
  dir = makeFolder();
  now = 1;
  isKnown = makeKnownFiles(() => now);
  writeFileSync(path.join(dir, file.path), 'first');
});

test('a file is intact if it has its size and hash', () => {
  expect(isKnown(dir, file)).toBe(true);
  expect(isKnown(dir, { ...file, sha256: hash('sha256', 'other') })).toBe(false);
  expect(isKnown(dir, { ...file, size: 4 })).toBe(false);
  expect(isKnown(dir, { ...file, path: 'none.json' })).toBe(false);
});

test('a file that was written since is hashed again', () => {
  expect(isKnown(dir, file)).toBe(true);
  writeFileSync(path.join(dir, file.path), 'other');
  expect(isKnown(dir, file)).toBe(false);
});

test('damage that changes neither size nor time is found after an hour', () => {
  const name = path.join(dir, file.path);
  const { atime, mtime } = statSync(name);
  // Rounds the time to what can be set again below.
  utimesSync(name, atime, mtime);
  expect(isKnown(dir, file)).toBe(true);
  writeFileSync(name, 'other');
  utimesSync(name, atime, mtime);
  now = 3_600_001;
  expect(isKnown(dir, file)).toBe(true);
  now = 3_600_002;
  expect(isKnown(dir, file)).toBe(false);
});
