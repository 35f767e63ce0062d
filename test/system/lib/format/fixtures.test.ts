/** Compares what the generator writes with golden files: an unnoticed change of the bytes fails. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { RESERVE_FILE } from '#lib/format/layout.ts';
import { makeFixture } from '#test/catalogue/fixture.ts';
import { makeFolder, ROOT } from '#test/support/product.ts';

/** Every file and link of a folder by its name, with its content; but the reserve, which is random. */
function contentOf(dir: string): Record<string, string> {
  const entries = readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory() && entry.name !== RESERVE_FILE)
    .map((entry): [string, string] => {
      const file = path.join(entry.parentPath, entry.name);
      const content = entry.isSymbolicLink()
        ? `-> ${readlinkSync(file)}`
        : readFileSync(file, 'latin1');
      return [path.relative(dir, file), content];
    });
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

test('the same rows give the golden files, byte for byte', async () => {
  const dir = path.join(makeFolder(), 'snapshots');
  await makeFixture(dir);
  const found = contentOf(dir);
  const golden = contentOf(path.join(ROOT, 'test/fixtures/golden'));
  // Names first, since a byte that differs says little without its file.
  expect(Object.keys(found)).toEqual(Object.keys(golden));
  const changed = Object.keys(found).filter((name) => found[name] !== golden[name]);
  expect(changed, 'test/fixtures/README.md says what to do').toEqual([]);
});
