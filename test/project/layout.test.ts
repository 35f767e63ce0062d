/**
 * Checks the layout of the sources: folders import in one direction, neither files nor folders import
 * each other in cycles, folders and files stay small, and packages and names are known.
 */
import { readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import path from 'node:path';
import fastGlob from 'fast-glob';
import { describe, expect, test } from 'vitest';
import { ROOT } from '../support/product.ts';

/** Each top-level folder of the product, and the others that it may import. The client is a package of its own. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  format: [],
  program: [],
  pages: [],
  database: ['program'],
  store: ['format', 'program'],
  generator: ['format', 'store', 'database', 'program'],
  keys: ['format', 'database', 'pages', 'program'],
  proxy: ['format', 'store', 'pages', 'program'],
  commands: ['format', 'store', 'proxy', 'program'],
  doctor: [
    'format',
    'program',
    'pages',
    'database',
    'store',
    'generator',
    'keys',
    'proxy',
    'commands',
  ],
  client: ['format'],
  install: [],
};
/** Folders outside the product, which may import all of it. */
const FREE = ['demo', 'test'];
/** The only source in the top folder. */
const TEST_CONFIGURATION = 'vitest.config.ts';
/** Made from openapi.yaml. */
const GENERATED = 'client/contract.ts';
const MOST_LINES = 350;
const VAGUE = /^(?:utils?|common|libs?|helpers?|types?)$/i;

const SPECIFIERS = [
  /\b(?:from|import)\s*['"]([^'"]+)['"]/g,
  /\b(?:import|require|import\.meta\.resolve)\s*\(\s*['"]([^'"]+)['"]/g,
  // A worker thread is started from its file.
  /\bnew URL\(\s*['"](\.[^'"]+\.(?:ts|js|mjs|cjs))['"]/g,
];

const dependenciesIn = (folder: string): string[] =>
  Object.keys(
    JSON.parse(readFileSync(path.join(ROOT, folder, 'package.json'), 'utf8')).dependencies,
  );
const dependencies = dependenciesIn('.');
const clientDependencies = dependenciesIn('client');
const files = fastGlob.sync('**', {
  cwd: ROOT,
  dot: true,
  ignore: [
    '**/node_modules/**',
    '.git/**',
    'snapshots/**',
    '.demo/**',
    'test/output/**',
    'client/dist/**',
  ],
});
const sources = files.filter(
  (file) => /\.(?:ts|js|mjs|cjs)$/.test(file) && !runsInBrowsers(file) && file !== GENERATED,
);
const texts = new Map(sources.map((file) => [file, readFileSync(path.join(ROOT, file), 'utf8')]));
const productSources = sources.filter((file) => isProduct(file));

function runsInBrowsers(file: string): boolean {
  return /\/files\/[^/]+\.js$/.test(file);
}

function isProduct(file: string): boolean {
  return topFolderOf(file) in MAY_IMPORT;
}

function importsOf(text: string): string[] {
  return SPECIFIERS.flatMap((pattern) =>
    [...text.matchAll(pattern)].map(([, specifier]) => specifier as string),
  );
}

/** The files that a source imports, relative to the root of the project. */
function filesImportedBy(file: string, text: string): string[] {
  return importsOf(text)
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) => path.posix.join(folderOf(file), specifier));
}

/** The top-level folder of a file; empty for a file in the root. */
function topFolderOf(file: string): string {
  return file.includes('/') ? file.split('/', 1)[0] : '';
}

function folderOf(file: string): string {
  return path.posix.dirname(file);
}

/** Why a source may not import something; undefined if it may. */
function faultOf(file: string, specifier: string): string | undefined {
  const from = topFolderOf(file);
  if (from === 'test' || file === TEST_CONFIGURATION) return undefined;
  if (!specifier.startsWith('.')) {
    // The client also runs in browsers, which have no modules of Node.
    const [known, hasBuiltins] =
      from === 'client' ? [clientDependencies, false] : [dependencies, true];
    const isKnown =
      (hasBuiltins && isBuiltin(specifier)) ||
      known.some((name) => specifier === name || specifier.startsWith(`${name}/`));
    return isKnown ? undefined : `${file} imports ${specifier}, which is not a dependency`;
  }
  const to = topFolderOf(path.posix.join(folderOf(file), specifier));
  if (FREE.includes(from) || to === from) return undefined;
  return MAY_IMPORT[from]?.includes(to) ? undefined : `${file} imports ${specifier}`;
}

function faultsOf(file: string, text: string): string[] {
  return importsOf(text).flatMap((specifier) => faultOf(file, specifier) ?? []);
}

function vagueNames(paths: readonly string[]): string[] {
  return paths.filter(
    (file) =>
      topFolderOf(file) !== 'test' &&
      file.split('/').some((part) => VAGUE.test(part.replace(/(?<=.)\..*$/, ''))),
  );
}

/** What each file imports, and each folder through its files. */
function importGraph(
  paths: readonly string[],
  textOf: (file: string) => string,
  nodeOf: (file: string) => string,
): Map<string, Set<string>> {
  const graph = new Map<string, Set<string>>();
  for (const file of paths) {
    const node = nodeOf(file);
    const targets = graph.get(node) ?? new Set<string>();
    graph.set(node, targets);
    for (const imported of filesImportedBy(file, textOf(file))) {
      if (nodeOf(imported) !== node) targets.add(nodeOf(imported));
    }
  }
  return graph;
}

/** The cycles that a walk finds, each as "a → b → a". */
function cyclesOf(graph: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const cycles: string[] = [];
  const finished = new Set<string>();
  const walk = (node: string, trail: readonly string[]): void => {
    const start = trail.indexOf(node);
    if (start >= 0) {
      cycles.push([...trail.slice(start), node].join(' → '));
      return;
    }
    if (finished.has(node)) return;
    for (const target of graph.get(node) ?? []) walk(target, [...trail, node]);
    finished.add(node);
  };
  for (const node of graph.keys()) walk(node, []);
  return cycles;
}

const textOf = (file: string) => texts.get(file) ?? '';

describe('the sources', () => {
  test('import in one direction, and only packages that are dependencies', () => {
    expect(sources.flatMap((file) => faultsOf(file, textOf(file)))).toEqual([]);
  });

  test('have no cycles of files', () => {
    expect(cyclesOf(importGraph(productSources, textOf, (file) => file))).toEqual([]);
  });

  test('have no cycles of folders', () => {
    expect(cyclesOf(importGraph(productSources, textOf, folderOf))).toEqual([]);
  });

  test(`of the product have at most ${MOST_LINES} lines`, () => {
    const tooLong = productSources
      .map((file) => [file, textOf(file).split('\n').length - 1] as const)
      .filter(([, lines]) => lines > MOST_LINES);
    expect(tooLong).toEqual([]);
  });

  test('are in known folders', () => {
    const folders = new Set(sources.map(topFolderOf));
    for (const known of ['', ...Object.keys(MAY_IMPORT), ...FREE]) folders.delete(known);
    expect([...folders]).toEqual([]);
    expect(sources.filter((file) => topFolderOf(file) === '')).toEqual([TEST_CONFIGURATION]);
  });

  test('have no vague names', () => {
    expect(vagueNames(files)).toEqual([]);
  });

  test('are found in every folder, with all their imports', () => {
    expect(importsOf(textOf('generator/run/write-and-publish.ts'))).toEqual(
      expect.arrayContaining(['node:path', '../../format/layout.ts', './end-unchanged.ts']),
    );
    const counts = Object.keys(MAY_IMPORT).map(
      (folder) => sources.filter((file) => topFolderOf(file) === folder).length,
    );
    expect(Math.min(...counts)).toBeGreaterThan(0);
  });
});

describe('a test file', () => {
  const folders = new Set(productSources.flatMap((file) => ancestorsOf(folderOf(file))));
  const OUTSIDE_THE_PRODUCT = [
    'project',
    'guarantees',
    'fleet',
    'operations',
    'support',
    'bench',
    'catalogue',
  ];

  function ancestorsOf(folder: string): string[] {
    return folder === '.' ? [] : [folder, ...ancestorsOf(path.posix.dirname(folder))];
  }

  test('is in a folder with the name of the one that it tests, or in one outside the product', () => {
    const misplaced = sources.filter((file) => {
      if (!file.endsWith('.test.ts')) return false;
      const folder = folderOf(file).slice('test/'.length);
      return !folders.has(folder) && !OUTSIDE_THE_PRODUCT.includes(folder.split('/', 1)[0]);
    });
    expect(misplaced).toEqual([]);
  });
});

describe('the rules find', () => {
  test.each([
    ['format/pack.ts', "import { x } from '../program/environment/environment.ts';"],
    ['format/pack.ts', "import type { Database } from '../database/database.ts';"],
    ['program/environment/environment.ts', "export { x } from '../../format/layout.ts';"],
    ['database/open.ts', "const { x } = await import('../format/layout.ts');"],
    ['store/publish.ts', "import { x } from '../generator/worker/worker.ts';"],
    ['generator/cli/main.ts', "import '../../proxy/main.ts';"],
    ['keys/cli/main.ts', "import { exportKeys } from '../../generator/keys/export-keys.ts';"],
    ['proxy/api/routes.ts', "import {\n  openDatabase,\n} from '../../database/open.ts';"],
    ['proxy/snapshot/x.ts', "new Worker(new URL('../../generator/x.ts', import.meta.url))"],
    ['proxy/main.ts', "import { send } from '../test/support/product.ts';"],
    ['proxy/main.ts', "import config from '../vitest.config.ts';"],
    ['proxy/main.ts', "import { request } from 'undici';"],
    ['demo/main.ts', "import { test } from 'vitest';"],
    ['generator/cli/main.ts', "const { x } = await import('yaml-other');"],
    ['client/send.ts', "import { setTimeout } from 'node:timers/promises';"],
    ['client/send.ts', "import { parse } from 'yaml';"],
  ])('%s with %s', (file, text) => {
    expect(faultsOf(file, text)).toHaveLength(1);
  });

  test.each([
    ['proxy/api/routes.ts', "import { x } from '../../format/layout.ts';"],
    ['proxy/api/routes.ts', "import { x } from '../snapshot/snapshots.ts';"],
    ['commands/show.ts', "import { x } from '../proxy/http/routes.ts';"],
    ['generator/cli/main.ts', "import fs from 'node:fs';\nimport mysql from 'mysql2/promise';"],
    ['client/client.ts', "import createClient from 'openapi-fetch';"],
    ['demo/main.ts', "import { sampleCatalogue } from '../test/catalogue/sample.ts';"],
  ])('nothing in %s with %s', (file, text) => {
    expect(faultsOf(file, text)).toEqual([]);
  });

  test('cycles of files and of folders', () => {
    const made: Readonly<Record<string, string>> = {
      'store/a.ts': "import './x/b.ts';",
      'store/x/b.ts': "import './c.ts';",
      'store/x/c.ts': "new URL('../d.ts', import.meta.url)",
      'store/d.ts': "import type { A } from './a.ts';",
      'store/e.ts': "import './a.ts';",
    };
    const read = (file: string) => made[file] ?? '';
    const graph = importGraph(Object.keys(made), read, (file) => file);
    expect(cyclesOf(graph)).toEqual([
      'store/a.ts → store/x/b.ts → store/x/c.ts → store/d.ts → store/a.ts',
    ]);
    const folders = importGraph(Object.keys(made), read, folderOf);
    expect(cyclesOf(folders)).toEqual(['store → store/x → store']);
  });

  test('vague names of folders and files', () => {
    const vague = ['proxy/utils/a.ts', 'format/types.ts', 'keys/helpers.test.ts', 'lib/x.js'];
    expect(vagueNames([...vague, 'test/helpers.ts', 'format/record-index.ts'])).toEqual(vague);
  });
});
