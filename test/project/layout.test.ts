/**
 * Checks all imports of the sources against the tables in ARCHITECTURE.md: those between folders, and those
 * between the rooms of a folder, which may only import rooms that are listed before them.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import fastGlob from 'fast-glob';
import { expect, test } from 'vitest';
import { PROGRAM_FOLDERS } from '#generator/reuse/earlier-run.ts';
import { ROOT } from '#test/support/product.ts';

/** Also finds the files that worker threads are started from. */
const IMPORT = /(?:\b(?:from|import)\s*\(?\s*|new URL\(\s*)'(\.[^']+\.ts)'/g;
/** In a list of rooms, the files that are directly in the folder. By default, these come last. */
const OWN_FILES = '*.ts';

interface Folder {
  /** The folders that it may import. */
  readonly imports: readonly string[];
  /** Its rooms, in the order of the table. */
  readonly rooms: readonly string[];
}

function read(file: string): string {
  return readFileSync(path.join(ROOT, file), 'utf8');
}

const FOLDERS = new Map<string, Folder>(
  Array.from(
    read('ARCHITECTURE.md').matchAll(/^\| `((?:lib\/)?[a-z]+)\/` \| .+ \| (.*) \| (.*) \|$/gm),
    ([, folder = '', imports = '', rooms = '']) => {
      const inCell = (cell: string) =>
        [...cell.matchAll(/`([\w/*.]+?)\/?`/g)].map(([, name = '']) => name);
      return [folder, { imports: inCell(imports), rooms: inCell(rooms) }];
    },
  ),
);

/** The folder of the table that a file is in, and its room. */
function placeOf(file: string): { readonly folder: string; readonly room: string } {
  const depth = file.startsWith('lib/') ? 2 : 1;
  const parts = file.split('/');
  return {
    folder: parts.slice(0, depth).join('/'),
    room: parts.length > depth + 1 ? (parts[depth] ?? '') : OWN_FILES,
  };
}

function isAllowed(file: string, target: string): boolean {
  const from = placeOf(file);
  const to = placeOf(target);
  const { imports = [], rooms = [] } = FOLDERS.get(from.folder) ?? {};
  if (from.folder !== to.folder) {
    return imports.some((each) => to.folder === each || to.folder.startsWith(`${each}/`));
  }
  const order = rooms.includes(OWN_FILES) ? rooms : [...rooms, OWN_FILES];
  const [importer, imported] = [order.indexOf(from.room), order.indexOf(to.room)];
  return importer >= 0 && imported >= 0 && imported <= importer;
}

test('folders and rooms import only what ARCHITECTURE.md allows, and no two rooms import each other', () => {
  const files = fastGlob.sync(`{${[...FOLDERS.keys()]}}/**/*.ts`, {
    cwd: ROOT,
    ignore: ['**/node_modules/**', 'client/dist/**'],
  });
  expect(files.length).toBeGreaterThan(200);
  const forbidden = files.flatMap((file) =>
    [...read(file).matchAll(IMPORT)]
      .map(([, specifier = '']) => path.posix.join(path.posix.dirname(file), specifier))
      .filter((target) => target.includes('/') && !isAllowed(file, target))
      .map((target) => `${file} imports ${target}`),
  );
  expect(forbidden).toEqual([]);
});

test('the core imports no part', () => {
  const parts = ['keys', 'site', 'depot', 'cli', 'client', 'demo'];
  const core = [...FOLDERS].filter(([folder]) => /^(?:find|generator|proxy|lib\/)/.test(folder));
  expect(core.length).toBeGreaterThan(5);
  for (const [, { imports }] of core) {
    expect(imports.filter((each) => parts.includes(each.split('/')[0] ?? ''))).toEqual([]);
  }
});

test('a run relies on an earlier one only if no folder has changed that the generator imports', () => {
  const imports = FOLDERS.get('generator')?.imports ?? [];
  expect(PROGRAM_FOLDERS.toSorted()).toEqual(['generator', ...imports].toSorted());
});

test('find/search and find/match do not import each other', () => {
  const files = fastGlob.sync('find/{search,match}/**/*.ts', { cwd: ROOT });
  expect(files.length).toBeGreaterThan(20);
  const between = files.filter((file) => /from '[./]+\/(?:search|match)\//.test(read(file)));
  expect(between).toEqual([]);
});
