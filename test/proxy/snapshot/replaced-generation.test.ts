/** Opening a generation gives the same with and without the one that it replaces. */
import { closeSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { generationDir } from '#lib/generations/generations.ts';
import { type OpenedFiles, openFiles } from '#proxy/snapshot/open-files.ts';
import { makeChanging, newSnapshots } from '#test/support/wholeness.ts';

const opened: OpenedFiles[] = [];
afterEach(() => {
  for (const { descriptors } of opened.splice(0)) descriptors.forEach(closeSync);
});

function open(snapshotsDir: string, id: string, current?: OpenedFiles): OpenedFiles {
  const dir = generationDir(snapshotsDir, id);
  const files = openFiles({ dir, id, current });
  opened.push(files);
  return files;
}

/** Two generations, of which the second has a change. They are made once for each change. */
const made = new Map<string, ReturnType<typeof generateTwo>>();

function makeTwo(set: string): ReturnType<typeof generateTwo> {
  const two = made.get(set) ?? generateTwo(set);
  made.set(set, two);
  return two;
}

async function generateTwo(set: string) {
  const database = await makeChanging();
  const dir = newSnapshots();
  const before = await database.publish(dir);
  const changed = `UPDATE games SET ${set} WHERE id = (SELECT MIN(id) FROM games)`;
  return { dir, before, after: await database.publish(dir, changed) };
}

test.each(["description = 'Changed'", 'release_year = 1977', "title = 'Aardvark, changed'"])(
  'after %s',
  async (set) => {
    const { dir, before, after } = await makeTwo(set);
    const alone = open(dir, after);
    const reusing = open(dir, after, open(dir, before));
    expect(reusing.contents).toEqual(alone.contents);
    expect(reusing.prepared).toEqual(alone.prepared);
    expect([...reusing.descriptors.keys()]).toEqual([...alone.descriptors.keys()]);
    expect(reusing.identities).toEqual(alone.identities);
  },
);

test('both share the memory of the files that are the same', async () => {
  const { dir, before, after } = await makeTwo("description = 'Changed'");
  const current = open(dir, before);
  const next = open(dir, after, current);
  const names = [...next.contents.keys()];
  const isSame = (name: string) => next.identities.get(name) === current.identities.get(name);
  const isShared = (name: string) =>
    next.contents.get(name)?.buffer === current.contents.get(name)?.buffer;
  expect(names.filter(isShared)).toEqual(names.filter(isSame));
  expect(names.filter(isShared)).toContain('index/words.bin');
  expect(names.filter(isShared)).not.toContain('index/games.bin');
});

test('what a search uses again keeps nothing else of the replaced generation in memory', async () => {
  const { dir, before, after } = await makeTwo('release_year = 1977');
  const current = open(dir, before);
  const next = open(dir, after, current);
  expect(next.prepared.spellingIndex).toBe(current.prepared.spellingIndex);
  const replaced = current.contents.get('index/filters.bin')?.buffer;
  expect(next.contents.get('index/filters.bin')?.buffer).not.toBe(replaced);
  expect(buffersIn(next.prepared)).not.toContain(replaced);
});

/** The memory to which an object of columns refers. */
function buffersIn(value: unknown): unknown[] {
  if (ArrayBuffer.isView(value)) return [value.buffer];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(buffersIn);
}

test('a file that was damaged since is found, although it is linked', async () => {
  const { dir, before, after } = await generateTwo("description = 'Changed'");
  const current = open(dir, before);
  const file = path.join(generationDir(dir, after), 'search.json');
  const content = readFileSync(file);
  content[10]++;
  writeFileSync(file, content);
  expect(() => open(dir, after, current)).toThrow('search.json is damaged');
});
