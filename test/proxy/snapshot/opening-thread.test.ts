/** The thread that opens generations carries out one order after another, also after one that failed. */
import { closeSync } from 'node:fs';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { currentId, generationDir } from '../../../generations/generations.ts';
import type { OpenedFiles, OpenOrder } from '../../../proxy/snapshot/open-files.ts';
import { makeOpeningThread } from '../../../proxy/snapshot/opening-thread.ts';
import { makeSampleSnapshots } from '../../catalogue/snapshots.ts';

let order: OpenOrder;
let thread: ReturnType<typeof makeOpeningThread>;
beforeAll(async () => {
  const snapshotsDir = await makeSampleSnapshots();
  const id = currentId(snapshotsDir) ?? '';
  order = { dir: generationDir(snapshotsDir, id), id };
});
afterEach(() => thread.close());

function expectWhole({ manifest, contents, descriptors }: OpenedFiles): void {
  expect(manifest.id).toBe(order.id);
  expect([...contents.keys()]).toContain('index/games.bin');
  descriptors.forEach(closeSync);
}

test('one order follows another', async () => {
  thread = makeOpeningThread();
  const first = await thread.open(order);
  const second = await thread.open({ ...order, current: first });
  for (const opened of [first, second]) expectWhole(opened);
});

test('an order that failed does not affect the next one', async () => {
  thread = makeOpeningThread();
  const missing = { ...order, dir: `${order.dir}-missing` };
  await expect(thread.open(missing)).rejects.toThrow('manifest.json cannot be read');
  expectWhole(await thread.open(order));
});
