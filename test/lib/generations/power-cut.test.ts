/**
 * A power cut loses everything that was not synced. So each file and folder of a generation must be
 * synced before the generation is renamed to its id. The rename must be synced before `current` points
 * to the generation, and the change of `current` at the end.
 */
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { currentId, generationDir } from '#lib/generations/generations.ts';
import { generate } from '#test/support/product.ts';
import { makeChanging, newSnapshots } from '#test/support/wholeness.ts';
import { recorded } from './disk.ts';

/** Publishes a generation. @returns its id, and the syncs and renames in their order */
async function record(databaseUrl: string, dir: string) {
  const steps = await recorded(dir, () => generate(databaseUrl, dir));
  return { steps, id: currentId(dir) as string };
}

test('a generation is completely synced before it is current, the first one and the next', async () => {
  const dir = newSnapshots();
  const database = await makeChanging();
  const first = await record(database.url, dir);
  expectSynced(dir, first);
  await database.change();
  expectSynced(dir, await record(database.url, dir));
});

function expectSynced(dir: string, { steps, id }: Awaited<ReturnType<typeof record>>) {
  const lastOf = (step: string) => {
    expect(steps).toContain(step);
    return steps.lastIndexOf(step);
  };
  const published = steps.findIndex((step) => step.endsWith(` generations/${id}`));
  const unfinished = steps[published]?.split(' ')[1] ?? '';
  const contents = readdirSync(generationDir(dir, id), { recursive: true, encoding: 'utf8' });
  expect(contents).toContain('games/p1.json');
  for (const name of contents) {
    const inside = path.join(unfinished, name);
    // A hard link to an equal file of the previous generation may have replaced the new file.
    expect(lastOf(`fsync ${inside}`)).toBeLessThan(published);
    expect(lastOf(`fsync ${path.dirname(inside)}`)).toBeLessThan(published);
  }
  expect(lastOf(`fsync ${unfinished}`)).toBeLessThan(published);
  const swapped = steps.findIndex((step) => /^rename \S+ current$/.test(step));
  const named = lastOf('fsync generations');
  expect([published < named, named < swapped]).toEqual([true, true]);
  expect(steps[swapped + 1]).toBe('fsync ');
}
