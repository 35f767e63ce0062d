/**
 * The order of the folders, held by reading the sources: who imports whom, which packages the
 * product may name, and which names no file bears.
 */
import { readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import path from 'node:path';
import fastGlob from 'fast-glob';
import { describe, expect, test } from 'vitest';
import { ROOT } from './product.ts';

/** What each folder of the product may import besides itself. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  files: [],
  format: ['files'],
  environment: ['files'],
  program: ['environment'],
  database: ['environment'],
  generator: ['format', 'database', 'environment', 'program', 'files'],
  keys: ['format', 'database', 'environment', 'program'],
  proxy: ['format', 'environment', 'program', 'files'],
  install: [],
};
/** These stand beside the product and may import all of it. */
const FREE = ['demo', 'test'];
/** At the top of the project: the configuration of the tests, which is theirs. */
const TEST_CONFIGURATION = 'vitest.config.ts';
const VAGUE = /^(?:utils?|common|libs?|helpers?|types?)$/i;

const SPECIFIERS = [
  /\b(?:from|import)\s*['"]([^'"]+)['"]/g,
  /\b(?:import|require|import\.meta\.resolve)\s*\(\s*['"]([^'"]+)['"]/g,
  // A worker thread is started from its file.
  /\bnew URL\(\s*['"](\.[^'"]+\.(?:ts|js|mjs|cjs))['"]/g,
];

const { dependencies } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8'));
const files = fastGlob.sync('**', {
  cwd: ROOT,
  dot: true,
  ignore: ['**/node_modules/**', '.git/**', 'snapshots/**', '.demo/**', 'test/output/**'],
});
const sources = files.filter(
  // What proxy/site/ holds in JavaScript runs in browsers.
  (file) => /\.(?:ts|js|mjs|cjs)$/.test(file) && !/^proxy\/site\/.*\.js$/.test(file),
);

function importsOf(text: string): string[] {
  return SPECIFIERS.flatMap((pattern) =>
    [...text.matchAll(pattern)].map(([, specifier]) => specifier as string),
  );
}

function folderOf(file: string): string {
  return file.includes('/') ? (file.split('/', 1)[0] as string) : '';
}

/** Why a source may not import something; undefined when it may. */
function faultOf(file: string, specifier: string): string | undefined {
  const from = folderOf(file);
  if (from === 'test' || file === TEST_CONFIGURATION) return undefined;
  if (!specifier.startsWith('.')) {
    const isKnown =
      isBuiltin(specifier) ||
      Object.keys(dependencies).some(
        (name) => specifier === name || specifier.startsWith(`${name}/`),
      );
    return isKnown ? undefined : `${file} imports ${specifier}, which is no dependency`;
  }
  const to = folderOf(path.posix.join(path.posix.dirname(file), specifier));
  if (FREE.includes(from) || to === from) return undefined;
  return MAY_IMPORT[from]?.includes(to) ? undefined : `${file} imports ${specifier}`;
}

function faultsOf(file: string, text: string): string[] {
  return importsOf(text).flatMap((specifier) => faultOf(file, specifier) ?? []);
}

function vagueNames(paths: readonly string[]): string[] {
  return paths.filter(
    (file) =>
      folderOf(file) !== 'test' &&
      file.split('/').some((part) => VAGUE.test(part.replace(/(?<=.)\..*$/, ''))),
  );
}

describe('the sources', () => {
  test('import in one direction, and only packages that are dependencies', () => {
    const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8');
    expect(sources.flatMap((file) => faultsOf(file, read(file)))).toEqual([]);
  });

  test('stand in known folders', () => {
    const folders = new Set(sources.map(folderOf));
    for (const known of ['', ...Object.keys(MAY_IMPORT), ...FREE]) folders.delete(known);
    expect([...folders]).toEqual([]);
    expect(sources.filter((file) => folderOf(file) === '')).toEqual([TEST_CONFIGURATION]);
  });

  test('bear no vague names', () => {
    expect(vagueNames(files)).toEqual([]);
  });

  test('are all read: every folder imports what it is known to', () => {
    const text = readFileSync(path.join(ROOT, 'generator/generate.ts'), 'utf8');
    expect(importsOf(text)).toEqual(
      expect.arrayContaining(['node:fs', '../database/schema.ts', './write-generation.ts']),
    );
    const counts = Object.keys(MAY_IMPORT).map(
      (folder) => sources.filter((file) => folderOf(file) === folder).length,
    );
    expect(Math.min(...counts)).toBeGreaterThan(0);
  });
});

describe('the rules catch', () => {
  test.each([
    ['format/pack.ts', "import { x } from '../environment/environment.ts';"],
    ['format/pack.ts', "import type { Database } from '../database/database.ts';"],
    ['environment/environment.ts', "export { x } from '../format/layout.ts';"],
    ['database/open.ts', "const { x } = await import('../format/layout.ts');"],
    ['generator/main.ts', "import '../proxy/main.ts';"],
    ['keys/main.ts', "import { exportKeys } from '../generator/keys-export.ts';"],
    ['proxy/http/routes.ts', "import {\n  openDatabase,\n} from '../../database/open.ts';"],
    ['proxy/snapshot/x.ts', "new Worker(new URL('../../generator/x.ts', import.meta.url))"],
    ['proxy/main.ts', "import { send } from '../test/product.ts';"],
    ['proxy/main.ts', "import config from '../vitest.config.ts';"],
    ['proxy/main.ts', "import { request } from 'undici';"],
    ['demo/main.ts', "import { test } from 'vitest';"],
    ['generator/main.ts', "const { x } = await import('yaml-other');"],
  ])('%s with %s', (file, text) => {
    expect(faultsOf(file, text)).toHaveLength(1);
  });

  test.each([
    ['proxy/http/routes.ts', "import { x } from '../../format/layout.ts';"],
    ['proxy/http/routes.ts', "import { x } from '../snapshot/snapshots.ts';"],
    ['generator/main.ts', "import fs from 'node:fs';\nimport mysql from 'mysql2/promise';"],
    ['demo/main.ts', "import { sampleCatalogue } from '../test/catalogue/sample.ts';"],
  ])('nothing in %s with %s', (file, text) => {
    expect(faultsOf(file, text)).toEqual([]);
  });

  test('vague names of folders and files', () => {
    const vague = ['proxy/utils/a.ts', 'format/types.ts', 'keys/helpers.test.ts', 'lib/x.js'];
    expect(vagueNames([...vague, 'test/helpers.ts', 'format/record-index.ts'])).toEqual(vague);
  });
});
