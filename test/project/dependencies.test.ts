/** `npm ci` on a fresh clone: the lock file is complete, and no package runs install scripts. */
import { execFile } from 'node:child_process';
import { cpSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { makeFolder, ROOT } from '../support/product.ts';

interface LockedPackage {
  readonly hasInstallScript?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const execute = promisify(execFile);

function readLock(file: string): [path: string, entry: LockedPackage][] {
  return Object.entries(JSON.parse(readFileSync(path.join(ROOT, file), 'utf8')).packages);
}

test.each(['package-lock.json', 'client/package-lock.json', 'test/bench/package-lock.json'])(
  'no package of %s has an install script',
  (file) => {
    const packages = readLock(file);
    expect(packages.length).toBeGreaterThan(10);
    expect(packages.filter(([, { hasInstallScript }]) => hasInstallScript)).toEqual([]);
  },
);

test('npm runs no install script in this folder', () => {
  expect(readFileSync(path.join(ROOT, '.npmrc'), 'utf8')).toMatch(/^ignore-scripts=true$/m);
});

test('the lock file has an entry for every optional package, including those of other platforms', () => {
  const packages = readLock('package-lock.json');
  const known = new Set(packages.map(([name]) => name.replace(/^.*node_modules\//, '')));
  const wanted = packages.flatMap(([, entry]) => Object.keys(entry.optionalDependencies ?? {}));
  expect(wanted.length).toBeGreaterThan(20);
  expect(wanted.filter((name) => !known.has(name))).toEqual([]);
});

describe('npm accepts the lock file', () => {
  test.each([
    ['npm ci', []],
    ['npm ci --omit=dev', ['--omit=dev']],
    ['npm ci --omit=dev --omit=optional', ['--omit=dev', '--omit=optional']],
  ])('%s', async (_, options) => {
    const folder = makeFolder();
    for (const name of ['package.json', 'package-lock.json', '.npmrc']) {
      cpSync(path.join(ROOT, name), path.join(folder, name));
    }
    const { stdout } = await execute('npm', ['ci', '--dry-run', '--loglevel=notice', ...options], {
      cwd: folder,
    });
    expect(stdout).toMatch(/^added \d+ packages/m);
  });
});
