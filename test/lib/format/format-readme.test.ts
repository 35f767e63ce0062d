/** Compares the specification with a golden generation: its files, and the columns of its index files. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import fastGlob from 'fast-glob';
import { expect, test } from 'vitest';
import { makeSampleSnapshots } from '#test/catalogue/snapshots.ts';
import { makeFolder, ROOT } from '#test/support/product.ts';

const GENERATION = path.join(ROOT, 'test/fixtures/golden/current');
const [readme = '', ofFind = ''] = ['lib/format', 'find'].map((folder) =>
  readFileSync(path.join(ROOT, folder, 'README.md'), 'utf8'),
);
const files = fastGlob.sync('**/*', { cwd: GENERATION }).toSorted();

test('a generation has the files in the table, and no others', () => {
  const [, rest = ''] = readme.split('\n| name in a generation | what it is |\n');
  const rows = rest.slice(0, rest.indexOf('\n\n')).split('\n');
  const named = rows.flatMap((row) =>
    [...(row.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)].map(([, name]) => name),
  );
  const found = files.map((file) =>
    file.replace(/^(games|covers|titles)\/.*/, '$1/<platform slug>.json'),
  );
  expect([...new Set(found)]).toEqual(named.toSorted());
});

test.each(files.filter((file) => file.endsWith('.bin')))(
  '%s has the columns in its table',
  (file) => {
    const bytes = readFileSync(path.join(GENERATION, file));
    const directory = JSON.parse(bytes.subarray(16, 16 + bytes.readUInt32LE(12)).toString());
    // The text before the table describes the columns of postings, whose names have a dot.
    const found = Object.keys(directory).filter((name) => !name.includes('.'));
    const [, after = ''] = `${readme}${ofFind}`.split(`\n### \`${file}\`\n`);
    const [section = ''] = after.split('\n#');
    const [, rows = ''] = section.split('\n| column | type | entries | meaning |\n');
    const listed = [...rows.slice(0, rows.indexOf('\n\n')).matchAll(/^\| `(\w+)` \| `(\w+)` \|/gm)];
    expect(listed.map(([, name]) => name)).toEqual(found);
    expect(listed.map(([, , type]) => type)).toEqual(found.map((name) => directory[name].type));
  },
);

test('the example loads search.json with MiniSearch alone, and finds a title with an accent', async () => {
  const [, code = ''] = /```js\n(.*?)```/s.exec(readme) ?? [];
  const folder = makeFolder();
  const generation = path.join(await makeSampleSnapshots(), 'current');
  for (const name of ['search.json', 'search-options.json'])
    copyFileSync(path.join(generation, name), path.join(folder, name));
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'));
  const found = execFileSync(process.execPath, ['--input-type=module', '--eval', code], {
    cwd: folder,
    encoding: 'utf8',
  });
  expect(found).toBe("[ 'n64/pokemon-snap' ]\n");
});
