/** The run-time dependencies. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import fastGlob from 'fast-glob';
import { expect, test } from 'vitest';
import { ROOT } from '../support/product.ts';

test('the run-time dependencies are exactly what the product imports', () => {
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
});
