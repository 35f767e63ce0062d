/** Holds README.md and .env.example to what the programs know. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { VARIABLES } from '../../program/environment/environment.ts';
import { ROOT } from '../support/product.ts';

const readme = readFileSync(path.join(ROOT, 'README.md'), 'utf8');
const packageJson = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8'));

test('the configuration table has every variable with its default and meaning, and no other', () => {
  const rows = [...readme.matchAll(/^\| `([A-Z_]+)` \| (.+?) \| (.+) \|$/gm)].map((row) =>
    row.slice(1),
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
  const example = readFileSync(path.join(ROOT, '.env.example'), 'utf8');
  const names = [...example.matchAll(/^([A-Z_]+)=/gm)].map(([, name]) => name);
  expect(names.toSorted()).toEqual(Object.keys(VARIABLES).toSorted());
});

test('every dependency is named with its reason', () => {
  const section = readme.slice(readme.indexOf('## Dependencies'));
  for (const group of ['dependencies', 'devDependencies', 'optionalDependencies']) {
    for (const name of Object.keys(packageJson[group])) expect(section).toContain(`\`${name}\``);
  }
});

test('every guarantee names tests that exist, and every test with a full form is one of a guarantee', () => {
  const section = /## Guarantees\n(.*?)\n## /s.exec(readme)?.[1] ?? '';
  const named = new Set(
    [...section.matchAll(/^\| .*/gm)].flatMap(
      ([row]) => row.match(/test\/[\w-]+\.test\.ts/g) ?? [],
    ),
  );
  for (const file of named) expect(existsSync(path.join(ROOT, file)), file).toBe(true);
  const withFullForm = readdirSync(path.join(ROOT, 'test'))
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => `test/${file}`)
    .filter((file) => /from '\.\/rounds\.ts'/.test(readFileSync(path.join(ROOT, file), 'utf8')));
  expect([...named]).toEqual(expect.arrayContaining(withFullForm));
});

test('every command that it names exists', () => {
  for (const [, script] of readme.matchAll(/`npm run ([a-z]+)/g)) {
    expect(Object.keys(packageJson.scripts)).toContain(script);
  }
  const executable = readFileSync(path.join(ROOT, 'bin/cover-catalogue'), 'utf8');
  const known = [...executable.matchAll(/^ {2}([a-z]+)\) program=/gm)].map(([, name]) => name);
  for (const [, command] of readme.matchAll(/(?:`|^ {4})cover-catalogue ([a-z]+)/gm)) {
    expect(known).toContain(command);
  }
});
