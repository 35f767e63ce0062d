/** The folder of compiled code: whoever can write to it can run code as the generator. */
import { chmodSync, existsSync, mkdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { compileCacheIn } from '../../../generator/cli/runs.ts';
import { newSnapshots } from '../../support/wholeness.ts';

beforeEach(() => void vi.stubEnv('NODE_COMPILE_CACHE', undefined));
afterEach(() => vi.unstubAllEnvs());

test('only the owner may read or write it, whoever could before', () => {
  const dir = newSnapshots();
  const folder = path.join(dir, 'compile-cache');
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o777);
  expect(compileCacheIn(dir)).toEqual({ NODE_COMPILE_CACHE: folder });
  expect(statSync(folder).mode & 0o777).toBe(0o700);
});

test('is not made before there is a snapshots folder, which has other permissions', () => {
  const dir = newSnapshots();
  expect(compileCacheIn(dir)).toEqual({});
  expect(existsSync(dir)).toBe(false);
});

test('the folder in the environment is used', () => {
  vi.stubEnv('NODE_COMPILE_CACHE', '/elsewhere');
  expect(compileCacheIn(newSnapshots())).toEqual({});
});
