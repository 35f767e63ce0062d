/** `npm ci` on a fresh clone: the lock file is complete, and no package runs install scripts. */
import { execFile } from 'node:child_process';
import { cpSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import fastGlob from 'fast-glob';
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

test('the run-time dependencies are what the product imports, and the README gives a reason for each', () => {
  const { dependencies } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8'));
  const files = fastGlob.sync(['*/**/*.ts', 'bin/*'], {
    cwd: ROOT,
    // The client is a package of its own.
    ignore: ['test/**', 'client/**', '**/node_modules/**', 'snapshots/**'],
  });
  const imported = files.flatMap((file) => {
    const source = readFileSync(path.join(ROOT, file), 'utf8');
    const found = source.matchAll(
      /(?:\bfrom|^import|\bimport\(|\bresolve\()\s*'((?:@[\w-]+\/)?[\w-]+)[^':]*'/gm,
    );
    return [...found].map(([, name]) => name);
  });
  expect([...new Set(imported)].sort()).toEqual(Object.keys(dependencies).sort());
  const readme = readFileSync(path.join(ROOT, 'README.md'), 'utf8');
  for (const name of Object.keys(dependencies))
    expect(readme).toMatch(new RegExp(`^\\| .*\`${name}\``, 'm'));
});

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
