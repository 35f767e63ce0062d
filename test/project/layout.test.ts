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

/** The files that a file imports, as paths from the root. */
function importsOf(file: string): string[] {
  return [...read(file).matchAll(IMPORT)].map(([, specifier = '']) =>
    path.posix.join(path.posix.dirname(file), specifier),
  );
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
    return importsOf(file)
      .filter((target) => !target.startsWith(`${folder}/`))
      .filter((target) => !allowed.get(folder)?.has(target.split('/')[0] ?? ''))
      .map((target) => `${file} imports ${target}`);
  });
  expect(forbidden).toEqual([]);
});

/** The rooms of the proxy below the API, and the rooms that each may import, for types as well. */
const ROOMS = { find: ['find'], snapshot: ['find', 'snapshot', 'workers'] };

test('in the proxy, what searches knows no generation, and a generation no API', () => {
  const forbidden = Object.entries(ROOMS).flatMap(([room, allowed]) =>
    fastGlob.sync(`proxy/${room}/**/*.ts`, { cwd: ROOT }).flatMap((file) =>
      importsOf(file)
        .filter((target) => target.startsWith('proxy/'))
        .filter((target) => !allowed.includes(target.split('/')[1] ?? ''))
        .map((target) => `${file} imports ${target}`),
    ),
  );
  expect(forbidden).toEqual([]);
});
