/**
 * A generation whose titles were sorted with another version of the collation than this Node has. It
 * is served, the proxy and `snapshot verify` warn, and the next run sorts with the current version.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { runSnapshot } from '../../commands/run-snapshot.ts';
import { CURRENT, MANIFEST } from '../../format/layout.ts';
import { encodeManifest, parseManifest } from '../../format/manifest.ts';
import { currentId } from '../../store/generations/generations.ts';
import { makeSampleSqlite } from '../catalogue/snapshots.ts';
import {
  generate,
  makeFolder,
  runCommand,
  startProxy,
  testKey,
  writeKeys,
} from '../support/product.ts';

test('the proxy and verify warn about another ICU version until a run publishes again', async () => {
  const url = await makeSampleSqlite();
  const dir = path.join(makeFolder(), 'snapshots');
  await generate(url, dir);
  const file = () => path.join(dir, CURRENT, MANIFEST);
  const read = () => parseManifest(readFileSync(file(), 'utf8'));
  const { icu, unicode } = process.versions;
  expect(read()).toMatchObject({ icu_version: icu, unicode_version: unicode });
  const warning =
    `Titles were sorted with ICU 1.2 (Unicode ${unicode}), and this Node has ICU ${icu} (Unicode ${unicode}): ` +
    'run the generator and the proxy on the same Node, and generate again.';
  const verify = async () => {
    const { code, stderr } = await runCommand(runSnapshot, ['verify'], {
      SNAPSHOTS_DIR: dir,
    });
    return [code, stderr];
  };
  expect(await verify()).toEqual([0, '']);

  const first = currentId(dir) as string;
  writeFileSync(file(), encodeManifest({ ...read(), icu_version: '1.2' }));
  expect(await verify()).toEqual([0, `Warning: ${warning}\n`]);
  const key = testKey(1);
  writeKeys(dir, [key]);
  const proxy = await startProxy(dir);
  const served = () => proxy.get('/stats', key.key);
  expect((await served()).headers['x-snapshot']).toBe(first);
  const warnings = () =>
    proxy
      .log()
      .split('\n')
      .filter((line) => line.includes(warning));
  expect(warnings().map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({ level: 40, snapshot: first, msg: warning }),
  ]);

  // The rows are the same; only the collation in the manifest differs.
  await generate(url, dir);
  const second = currentId(dir) as string;
  expect(second).toBe(first.replace('000001', '000002'));
  expect(read().icu_version).toBe(icu);
  writeKeys(dir, [key]);
  await proxy.refresh();
  expect((await served()).headers['x-snapshot']).toBe(second);
  expect(warnings()).toHaveLength(1);
  expect(await verify()).toEqual([0, '']);
  await generate(url, dir);
  expect(currentId(dir)).toBe(second);
  await proxy.stop();
});
