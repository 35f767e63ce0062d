/** Compares the documents and .env.example with the code: variables, commands, refusals and links. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import fastGlob from 'fast-glob';
import { describe, expect, test } from 'vitest';
import { VARIABLES, type VariableName } from '#lib/program/environment/variables.ts';
import { REFUSALS } from '#proxy/api/request-counts.ts';
import { ROOT } from '#test/support/product.ts';

const DOCUMENTS = fastGlob.sync(
  [
    '*.md',
    'operations/**/*.md',
    '{client,find,lib/format,test}/*.md',
    'test/{bench,fixtures}/*.md',
  ],
  { cwd: ROOT, ignore: ['CHANGELOG.md'] },
);

function read(file: string): string {
  return readFileSync(path.join(ROOT, file), 'utf8');
}

/** The source of each command: it has the names of verbs and options. */
const PROGRAMS = new Map(
  fastGlob.sync('cli/*.ts', { cwd: ROOT }).map((file) => {
    const command = path.basename(file, '.ts');
    const verbs = command === 'keys' ? fastGlob.sync('keys/cli/*.ts', { cwd: ROOT }) : [];
    return [command, [file, ...verbs].map(read).join('\n')];
  }),
);

/** The anchors that GitHub makes of the headings of a document. */
function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    (heading as string)
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  );
}

test('.env.example has every variable once, and a line that is commented out shows its default', () => {
  const lines = [...read('.env.example').matchAll(/^(#?)([A-Z_0-9]+)=(.*)$/gm)];
  expect(lines.map(([, , name]) => name).toSorted()).toEqual(Object.keys(VARIABLES).toSorted());
  const defaults = lines.flatMap(([, isCommented, name, value]) =>
    isCommented ? [[name, value]] : [],
  );
  expect(defaults).toEqual(defaults.map(([name]) => [name, VARIABLES[name as VariableName][0]]));
});

test('operations/monitoring.md lists every reason of a refusal, and no others', () => {
  const [, section = ''] = read('operations/monitoring.md').split('\n## Reasons of refusals\n');
  const [table = ''] = section.split('\n#', 1);
  const named = [...table.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
  expect(named.toSorted()).toEqual([...REFUSALS].toSorted());
});

test('the messages of the programs refer to headings and pages that exist', () => {
  const files = fastGlob.sync(
    ['{cli,depot,find,generator,keys,lib,proxy,site}/**/*.ts', 'operations/**/*'],
    { cwd: ROOT, ignore: ['**/*.md'] },
  );
  const sources = files.map(read).join('\n');
  const headings = [...sources.matchAll(/"([A-Z][^"]+)" in\s(?:# )?(operations\/[\w-]+\.md)/g)];
  expect(headings.length).toBeGreaterThan(9);
  const unknown = headings.filter(([, text = '', page = '']) => {
    const name = text.replaceAll(/\s+(?:# )?/g, ' ');
    // One is a point of a list.
    return !new RegExp(`^#+ ${name}$|\\*\\*${name}\\*\\*`, 'm').test(read(page));
  });
  expect(unknown).toEqual([]);
  const pages = [...sources.matchAll(/operations\/[\w/-]+\.md/g)].map(([page]) => page);
  expect(pages.length).toBeGreaterThan(20);
  expect(pages.filter((page) => !existsSync(path.join(ROOT, page)))).toEqual([]);
});

describe.each(DOCUMENTS)('%s', (document) => {
  const text = read(document);

  test('names commands that exist', () => {
    const scripts = Object.keys(JSON.parse(read('package.json')).scripts);
    const named = [...text.matchAll(/`npm run ([a-z:]+)/g)].map(([, script]) => script);
    expect(named.filter((script = '') => !scripts.includes(script))).toEqual([]);
    const calls = [
      ...text.matchAll(/(?:`|^ {4,})cover-catalogue ([a-z]+)\b(?! \d)([^`\n#&|;]*)/gm),
    ];
    const unknown = calls.flatMap(([call, command = '', rest = '']) => {
      const program = PROGRAMS.get(command);
      if (program === undefined) return [call];
      const options = rest.match(/(?<= )--[a-z-]+/g) ?? [];
      const verb = ['keys', 'snapshot'].includes(command)
        ? (/^ ([a-z]+)/.exec(rest)?.[1] ?? '')
        : '';
      const isKnown = (word: string) => new RegExp(`${word}\\b`).test(program);
      return [...options, verb].every(isKnown) ? [] : [call];
    });
    expect(unknown).toEqual([]);
  });

  test('names files that exist', () => {
    const folders = fastGlob.sync('*', { cwd: ROOT, onlyDirectories: true });
    const named = [...text.matchAll(/`([\w-]+)(\/[\w./@-]*(?:\/|\.(?:md|py|sh|ts|ya?ml)))`/g)]
      .filter(([, folder = '']) => folders.includes(folder) && folder !== 'snapshots')
      .map(([, folder, rest]) => `${folder}${rest}`);
    const missing = named.filter((file) => !existsSync(path.join(ROOT, file)));
    expect(missing).toEqual([]);
  });

  test('links to files and headings that exist', () => {
    const links = [...text.matchAll(/\]\(([^)]+)\)/g)]
      .map(([, target]) => target as string)
      .filter((target) => !target.startsWith('https:'));
    const broken = links.filter((target) => {
      const [file, anchor] = target.split('#', 2) as [string, string | undefined];
      const found = file === '' ? document : path.join(path.dirname(document), file);
      if (!existsSync(path.join(ROOT, found))) return true;
      return anchor !== undefined && !anchorsOf(read(found)).includes(anchor);
    });
    expect(broken).toEqual([]);
  });
});
