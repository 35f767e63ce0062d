/** The npm package of the product has what its programs need at run time, and nothing else. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { ROOT } from '#test/support/product.ts';

const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8');

test('the package has every file that its programs import or read, and no tests, demos or notes', async () => {
  const { stdout } = await promisify(execFile)('npm', ['pack', '--dry-run', '--json'], {
    cwd: ROOT,
  });
  const [{ files }] = JSON.parse(stdout);
  const packed = files.map((file: { path: string }) => file.path) as string[];
  const top = [...new Set(packed.map((file) => file.split('/', 1)[0]))].toSorted();
  const { files: listed } = JSON.parse(read('package.json'));
  const always = ['LICENSE', 'README.md', 'package.json'];
  const wanted = listed
    .filter((name: string) => !name.startsWith('!'))
    .map((name: string) => name.split('/', 1)[0]);
  expect(top).toEqual([...wanted, ...always].toSorted());

  const sources = packed.filter((file) => file.endsWith('.ts'));
  const imported = sources.flatMap((file) => {
    // Node removes imports of types.
    const code = read(file).replaceAll(/^(?:im|ex)port type .*?;$/gms, '');
    return [...code.matchAll(/(?:from|import|URL\()\s*\(?'(\.[^']+)'/g)].map(([, specifier = '']) =>
      path.posix.join(path.posix.dirname(file), specifier),
    );
  });
  const needed = new Set(['cli/main.ts', ...imported]);
  expect(needed.size).toBeGreaterThan(200);
  const isPacked = (file: string) => packed.some((each) => each === file || each.startsWith(file));
  expect([...needed].filter((file) => !isPacked(file))).toEqual([]);
  expect(packed.filter((file) => /\.env$|\.test\.|secret|snapshots\//.test(file))).toEqual(
    packed.filter((file) => file.startsWith('operations/environment/')),
  );
});
