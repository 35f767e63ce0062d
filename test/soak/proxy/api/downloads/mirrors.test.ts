/** The commands of the guide to copying, with a default key: aria2c, rclone and wget get the bytes, also after a change. */
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { currentId } from '#lib/generations/generations.ts';
import { guideText } from '#site/docs/docs.ts';
import { makeSampleSqlite } from '#test/catalogue/snapshots.ts';
import { change } from '#test/support/databases.ts';
import { generate, makeFolder, startProxy, testKey, writeKeys } from '#test/support/product.ts';
import { filesOf } from '#test/support/replicas.ts';
import { newSnapshots } from '#test/support/wholeness.ts';

test('the commands of the guide copy all files, and what has changed though its size is the same', async () => {
  const url = await makeSampleSqlite();
  const snapshotsDir = newSnapshots();
  const key = testKey(1, { limit: 120 });
  await generate(url, snapshotsDir);
  writeKeys(snapshotsDir, [key]);
  const proxy = await startProxy(snapshotsDir);
  const api = `${proxy.url}/api/v1`;
  const text = guideText('copy', { api, defaultLimit: 120 });
  const blocks = [...text.matchAll(/(?:^ {4}.*\n)+/gm)].map(([block]) => block);
  const [aria2c, list, rclone, wget] = ['aria2c', '> paths.txt', 'rclone', 'wget'].map((text) =>
    blocks.find((block) => block.includes(text)),
  );
  const run = async (script: string, cwd: string) => {
    writeFileSync(path.join(cwd, 'covers.id'), currentId(snapshotsDir) ?? '');
    const { PATH } = process.env;
    const env = { PATH, HOME: cwd, COVERS_API: api, COVERS_KEY: key.key };
    await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], { cwd, env });
  };
  const expectCopy = (folder: string) => {
    for (const [name, bytes] of filesOf(snapshotsDir, currentId(snapshotsDir) as string))
      if (name !== 'manifest.json')
        expect([name, readFileSync(path.join(folder, name)).equals(bytes)]).toEqual([name, true]);
  };
  const one = makeFolder();
  await run(`${aria2c}\nmkdir covers && tar -xf covers.tar -C covers`, one);
  expectCopy(path.join(one, 'covers'));
  for (const mirror of [rclone, wget]) {
    const command = `${list}\n${mirror}`;
    const folder = makeFolder();
    await run(command, folder);
    expectCopy(path.join(folder, 'covers'));
    await change(
      url,
      "UPDATE games SET release_year = release_year + 1 WHERE slug = 'chrono-trigger'",
    );
    await generate(url, snapshotsDir);
    writeKeys(snapshotsDir, [key]);
    await proxy.refresh();
    await run(command, folder);
    expectCopy(path.join(folder, 'covers'));
  }
});
