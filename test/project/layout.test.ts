/** Checks the imports between top-level folders against the table in ARCHITECTURE.md. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import fastGlob from 'fast-glob';
import { expect, test } from 'vitest';
import { ROOT } from '#test/support/product.ts';

/** Also finds the files that worker threads are started from. */
const IMPORT = /(?:\b(?:from|import)\s*\(?\s*|new URL\(\s*)'(\.[^']+\.ts)'/g;

function read(file: string): string {
  return readFileSync(path.join(ROOT, file), 'utf8');
}

test('a folder imports only from the folders that ARCHITECTURE.md lists for it', () => {
  const rows = read('ARCHITECTURE.md').matchAll(/^\| `([a-z]+)\/` \| .+ \| (.*) \|$/gm);
  const allowed = new Map<string, ReadonlySet<string>>();
  for (const [, folder = '', cell = ''] of rows) {
    const named = [...cell.matchAll(/`([a-z]+)\/`/g)].map(([, name = '']) => name);
    allowed.set(folder, new Set(cell === 'every folder above' ? allowed.keys() : named));
  }
  const files = fastGlob.sync(`{${[...allowed.keys()]}}/**/*.ts`, {
    cwd: ROOT,
    ignore: ['**/node_modules/**', 'client/dist/**'],
  });
  expect(files.length).toBeGreaterThan(200);
  const forbidden = files.flatMap((file) => {
    const [folder = ''] = file.split('/');
    const imported = [...read(file).matchAll(IMPORT)].map(([, specifier = '']) =>
      path.posix.join(path.posix.dirname(file), specifier),
    );
    return imported
      .filter((target) => !target.startsWith(`${folder}/`))
      .filter((target) => !allowed.get(folder)?.has(target.split('/')[0] ?? ''))
      .map((target) => `${file} imports ${target}`);
  });
  expect(forbidden).toEqual([]);
});
