/** Compares the documents and .env.example with the code. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import fastGlob from 'fast-glob';
import { describe, expect, test } from 'vitest';
import { VARIABLES } from '../../program/environment/variables.ts';
import { ROOT } from '../support/product.ts';

const DOCUMENTS = ['README.md', 'ARCHITECTURE.md', 'OPERATIONS.md', 'CONTRIBUTING.md'];
const MOST_README_WORDS = 1200;

const packageJson = JSON.parse(read('package.json'));
const testFiles = fastGlob.sync('test/**/*.test.ts', {
  cwd: ROOT,
  ignore: ['test/bench/**', '**/node_modules/**'],
});

function read(file: string): string {
  return readFileSync(path.join(ROOT, file), 'utf8');
}

/** The anchors that GitHub makes of the headings of a document. */
function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    (heading as string)
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  );
}

test(`README.md has at most ${MOST_README_WORDS} words`, () => {
  expect(read('README.md').split(/\s+/).length).toBeLessThanOrEqual(MOST_README_WORDS);
});

test('the table in OPERATIONS.md has exactly the variables, with their defaults and meanings', () => {
  const rows = [...read('OPERATIONS.md').matchAll(/^\| `([A-Z_0-9]+)` \| (.+?) \| (.+) \|$/gm)].map(
    (row) => row.slice(1),
  );
  const expected = Object.entries(VARIABLES).map(([name, variable]) => [
    name,
    variable.default === undefined
      ? 'required'
      : variable.default === ''
        ? 'none'
        : `\`${variable.default}\``,
    variable.meaning,
  ]);
  expect(rows).toEqual(expected);
});

test('.env.example sets every variable once', () => {
  const names = [...read('.env.example').matchAll(/^([A-Z_0-9]+)=/gm)].map(([, name]) => name);
  expect(names.toSorted()).toEqual(Object.keys(VARIABLES).toSorted());
});

test('README.md names every dependency with its reason', () => {
  const readme = read('README.md');
  const section = readme.slice(readme.indexOf('## Dependencies'));
  for (const folder of ['.', 'client']) {
    const groups = JSON.parse(read(`${folder}/package.json`));
    for (const group of ['dependencies', 'devDependencies', 'optionalDependencies']) {
      const names = Object.keys(groups[group] ?? {});
      for (const name of names) expect(section).toContain(`\`${name}\``);
    }
  }
});

test('RELIABILITY.md names tests that exist, and every file of the soak', () => {
  const named = read('test/RELIABILITY.md').match(/test\/[\w/-]+\.test\.ts/g);
  expect(testFiles).toEqual(expect.arrayContaining(named ?? []));
  const soak = testFiles.filter((file) => file.startsWith('test/soak/'));
  expect(named).toEqual(expect.arrayContaining(soak));
});

describe.each(DOCUMENTS)('%s', (document) => {
  const text = read(document);

  test('names commands that exist', () => {
    for (const [, script] of text.matchAll(/`npm run ([a-z:]+)/g)) {
      expect(Object.keys(packageJson.scripts)).toContain(script);
    }
    const known = [...read('bin/cover-catalogue').matchAll(/^ {2}([a-z]+)\) program=/gm)].map(
      ([, name]) => name,
    );
    for (const [, command] of text.matchAll(/(?:`|^ {4})cover-catalogue ([a-z]+)/gm)) {
      expect(known).toContain(command);
    }
    expect(text).toContain('`');
  });

  test('links to files and headings that exist', () => {
    const links = [...text.matchAll(/\]\(([^)]+)\)/g)]
      .map(([, target]) => target as string)
      .filter((target) => !target.startsWith('https:'));
    const broken = links.filter((target) => {
      const [file, anchor] = target.split('#', 2) as [string, string | undefined];
      const found = file === '' ? document : file;
      if (!existsSync(path.join(ROOT, found))) return true;
      return anchor !== undefined && !anchorsOf(read(found)).includes(anchor);
    });
    expect(broken).toEqual([]);
  });

  test('names files and folders of the project that exist', () => {
    const folders =
      '(?:bin|client|commands|database|demo|doctor|format|generator|install|keys|operations|pages|program|proxy|store|test)';
    const names = [...text.matchAll(new RegExp(`\`(${folders}/[\\w./-]*)`, 'g'))].map(
      ([, name]) => name as string,
    );
    expect(names.filter((name) => !existsSync(path.join(ROOT, name)))).toEqual([]);
  });
});

test('ARCHITECTURE.md names every folder of sources in the product', () => {
  const folders = new Set(
    fastGlob
      .sync(
        [
          '{commands,database,doctor,format,generator,keys,pages,program,proxy,store}/**/*.ts',
          'client/*.ts',
        ],
        {
          cwd: ROOT,
        },
      )
      .map((file) => `${path.posix.dirname(file)}/`),
  );
  const text = read('ARCHITECTURE.md');
  expect([...folders].filter((folder) => !text.includes(`\`${folder}`))).toEqual([]);
});
