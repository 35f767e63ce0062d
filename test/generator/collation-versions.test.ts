/**
 * A generation whose titles were sorted with another version of the collation than this Node has. It
 * is served, the proxy and `snapshot verify` warn, and the next run sorts with the current version.
 */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { CURRENT, MANIFEST } from '#lib/format/layout.ts';
import { encodeManifest } from '#lib/format/manifest.ts';
import { currentId, readManifest } from '#lib/generations/generations.ts';
import { plainCatalogue } from '#test/catalogue/plain.ts';
import { makeSqlite } from '#test/catalogue/snapshots.ts';
import { generate, runSnapshots, startProxy, testKey, writeKeys } from '#test/support/product.ts';
import { newSnapshots } from '#test/support/wholeness.ts';

test('the proxy and verify warn about another ICU version until a run publishes again', async () => {
  const url = await makeSqlite(plainCatalogue(3));
  const dir = newSnapshots();
  await generate(url, dir);
  const read = () => readManifest(path.join(dir, CURRENT));
  const { icu, unicode } = process.versions;
  expect(read()).toMatchObject({ icu_version: icu, unicode_version: unicode });
  const warning =
    `Titles were sorted with ICU 1.2 (Unicode ${unicode}), and this Node has ICU ${icu} (Unicode ${unicode}): ` +
    'run the generator and the proxy on the same Node, and generate again.';
  const expectVerified = async (printed: string) =>
    expect(await runSnapshots(dir, 'verify')).toMatchObject({ code: 0, stderr: printed });
  await expectVerified('');

  const first = currentId(dir) as string;
  const other = encodeManifest({ ...read(), icu_version: '1.2' });
  writeFileSync(path.join(dir, CURRENT, MANIFEST), other);
  await expectVerified(`Warning: ${warning}\n`);
  const key = testKey(1);
  writeKeys(dir, [key]);
  const proxy = await startProxy(dir);
  const served = async () => (await proxy.get('/stats', key.key)).headers['x-snapshot'];
  expect(await served()).toBe(first);
  const warnings = () => proxy.log().match(/^.*Titles were sorted.*$/gm) ?? [];
  expect(warnings().map((line) => JSON.parse(line).msg)).toEqual([warning]);

  // The rows are the same; only the collation in the manifest differs.
  await generate(url, dir);
  // The database has no keys, so the run has exported none.
  writeKeys(dir, [key]);
  const second = currentId(dir);
  expect(second).not.toBe(first);
  expect(read().icu_version).toBe(icu);
  await proxy.refresh();
  expect([await served(), warnings().length]).toEqual([second, 1]);
  await expectVerified('');
  await proxy.stop();
});
