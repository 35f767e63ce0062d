/** The dependencies: those at run time are imported, and README.md names all. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import fastGlob from 'fast-glob';
import { expect, test } from 'vitest';
import { ROOT } from '#test/support/product.ts';

const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8');
const manifest = JSON.parse(read('package.json'));

test('the run-time dependencies are exactly what the product imports', () => {
  const { dependencies } = manifest;
  const files = fastGlob.sync(['*/**/*.ts', 'bin/*'], {
    cwd: ROOT,
    // The client is a package of its own.
    ignore: ['test/**', 'client/**', '**/node_modules/**', 'snapshots/**'],
  });
  const imported = files.flatMap((file) => {
    const source = read(file);
    const found = source.matchAll(
      /(?:\bfrom|^import|\bimport\(|\bmeta\.resolve\()\s*'((?:@[\w-]+\/)?[\w-]+)[^':]*'/gm,
    );
    return [...found].map(([, name]) => name);
  });
  expect([...new Set(imported)].sort()).toEqual(Object.keys(dependencies).sort());
});

test('README.md names every dependency, and no others', () => {
  const { dependencies, devDependencies, optionalDependencies } = manifest;
  const [, section = ''] = read('README.md').split('\n## Dependencies\n');
  const [list = ''] = section.split('\n## ', 1);
  // The first cell of each row, and the paragraph after the table.
  const [table = '', paragraph = ''] = list.trim().split('\n\n');
  const cells = table.split('\n').map((row) => row.split('|')[1]);
  const named = [...[...cells, paragraph].join(' ').matchAll(/`([^`]+)`/g)].map(([, name]) => name);
  const all = { ...dependencies, ...devDependencies, ...optionalDependencies };
  expect(named.toSorted()).toEqual(Object.keys(all).toSorted());
});
