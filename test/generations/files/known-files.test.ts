/** Which files need not be hashed again. */
import { hash } from 'node:crypto';
import { statSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { makeKnownFiles } from '../../../generations/files/checked-files.ts';
import { makeFolder } from '../../support/product.ts';

const file = { path: 'a.json', size: 5, sha256: hash('sha256', 'first') };
let dir: string;
let now: number;
let known: ReturnType<typeof makeKnownFiles>;
beforeEach(() => {
  dir = makeFolder();
  now = 1;
  known = makeKnownFiles(() => now);
  writeFileSync(path.join(dir, file.path), 'first');
});

test('a file is intact if it has its size and hash', () => {
  expect(known.isIntact(dir, file)).toBe(true);
  expect(known.isIntact(dir, { ...file, sha256: hash('sha256', 'other') })).toBe(false);
  expect(known.isIntact(dir, { ...file, size: 4 })).toBe(false);
  expect(known.isIntact(dir, { ...file, path: 'none.json' })).toBe(false);
});

test('a file that was written since is hashed again', () => {
  expect(known.isIntact(dir, file)).toBe(true);
  writeFileSync(path.join(dir, file.path), 'other');
  expect(known.isIntact(dir, file)).toBe(false);
});

test('the content of a file is checked once, and again if the file was written since', () => {
  expect(known.read(dir, file).toString()).toBe('first');
  expect(known.isIntact(dir, file)).toBe(true);
  expect(known.read(dir, file).toString()).toBe('first');
  expect(() => known.read(dir, { ...file, size: 4 })).toThrow('a.json is damaged: it has 5 bytes');
  writeFileSync(path.join(dir, file.path), 'other');
  expect(() => known.read(dir, file)).toThrow('a.json is damaged: its SHA-256');
});

/** Once the file is known, changes its content, but neither its size nor its time. */
function damageKnownFile(): void {
  const name = path.join(dir, file.path);
  expect(known.isIntact(dir, file)).toBe(true);
  const { atime, mtime } = statSync(name);
  // Rounds the time to what can be set again below.
  utimesSync(name, atime, mtime);
  expect(known.isIntact(dir, file)).toBe(true);
  writeFileSync(name, 'other');
  utimesSync(name, atime, mtime);
}

test('a known file is read without hashing it', () => {
  damageKnownFile();
  expect(known.read(dir, file).toString()).toBe('other');
  now = 3_600_002;
  expect(() => known.read(dir, file)).toThrow('a.json is damaged: its SHA-256');
});

test('damage that changes neither size nor time is found after an hour', () => {
  damageKnownFile();
  now = 3_600_001;
  expect(known.isIntact(dir, file)).toBe(true);
  now = 3_600_002;
  expect(known.isIntact(dir, file)).toBe(false);
});
