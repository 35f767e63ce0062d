/**
 * A run writes what differs from the generation that it replaces into the new one. Whatever happened to that, no
 * list of changes lacks anything.
 */
import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { FORMAT_VERSION, MANIFEST, REMOVED, SINCE_INDEX } from '#lib/format/layout.ts';
import { currentId, generationDir } from '#lib/generations/generations.ts';
import { fixtureCatalogue } from '#test/catalogue/fixture.ts';
import { change } from '#test/support/databases.ts';
import { generate, runSnapshots } from '#test/support/product.ts';
import { makePublished, runGenerator } from '#test/support/wholeness.ts';

/** A folder with one generation, and a function that publishes further ones. */
async function makeSite() {
  const { database, snapshotsDir: dir } = await makePublished(fixtureCatalogue());
  const publish = async (...statements: string[]) => {
    await change(database.url, ...statements);
    const { stderr } = await generate(database.url, dir, ['--force']);
    return { id: currentId(dir) as string, stderr };
  };
  return { url: database.url, dir, first: currentId(dir) as string, publish };
}

const SIGNS: Readonly<Record<string, string>> = { added: '+', changed: '~', removed: '-' };

/** The changes since a generation; undefined if they are not known. */
async function changesSince(dir: string, id: string): Promise<string[] | undefined> {
  const { code, stdout } = await runSnapshots(dir, 'show', `/changes?since=${id}&per_page=100`);
  if (code !== 0) return undefined;
  const { data } = JSON.parse(stdout) as { data: { change: string; path: string }[] };
  return data.map((each) => `${SIGNS[each.change]} ${each.path}`);
}

test('each kind of change is listed, in the order of kind and id', async () => {
  const { dir, first, publish } = await makeSite();
  const { id } = await publish(
    "UPDATE games SET description = 'Fast' WHERE id = 12",
    "UPDATE games SET slug = 'metroid-3' WHERE id = 14",
    'UPDATE games SET platform_id = 3 WHERE id = 18',
    "INSERT INTO games (id, platform_id, slug, title) VALUES (9, 1, 'axelay', 'Axelay')",
    "UPDATE covers SET status = 'approved' WHERE id = 504",
    "UPDATE covers SET status = 'rejected' WHERE id = 506",
    "INSERT INTO platforms VALUES (4, 'new', 'New')",
  );
  expect(await changesSince(dir, id)).toEqual([]);
  const listed = [
    '+ /platforms/new',
    '~ /platforms/virtual-boy',
    '+ /games/snes/axelay',
    // Its new cover, the cover that it lost, and two paths that changed.
    '~ /games/snes/chrono-trigger',
    '~ /games/snes/f-zero',
    '- /games/snes/super-metroid',
    '+ /games/snes/metroid-3',
    '- /games/snes/c-plus-plus-quest',
    '+ /games/virtual-boy/c-plus-plus-quest',
    '+ /covers/504',
    '- /covers/506',
  ];
  expect(await changesSince(dir, first)).toEqual(listed);
  // What has not changed again is listed as before.
  await publish("UPDATE games SET description = 'Stone age' WHERE id = 16");
  const again = listed.toSpliced(7, 0, '~ /games/snes/joe-and-mac');
  expect(await changesSince(dir, first)).toEqual(again);
});

test('a record that was removed and came back has changed since it was there, and is new since it was not', async () => {
  const { dir, first, publish } = await makeSite();
  const { id: without } = await publish("UPDATE covers SET status = 'rejected' WHERE id = 506");
  await publish("UPDATE covers SET status = 'approved' WHERE id = 506");
  expect(await changesSince(dir, first)).toContain('~ /covers/506');
  expect(await changesSince(dir, without)).toContain('+ /covers/506');
});

test('an alternative title is part of its game', async () => {
  const { dir, first, publish } = await makeSite();
  const { id } = await publish("INSERT INTO game_titles VALUES (12, 'Fast Cars')");
  expect(await changesSince(dir, first)).toEqual(['~ /games/snes/f-zero']);
  await publish("UPDATE game_titles SET title = 'Faster Cars' WHERE title = 'Fast Cars'");
  expect(await changesSince(dir, id)).toEqual(['~ /games/snes/f-zero']);
  const { stdout } = await runSnapshots(dir, 'diff', '1');
  expect(stdout).toMatch(
    /^1 game changed: titles\n~ \/games\/snes\/f-zero {2}titles: \[.*\] → \["Faster Cars"\]\n$/,
  );
});

test('after a change of the settings, every record with an address has changed', async () => {
  const { url, dir, first, publish } = await makeSite();
  await runGenerator(url, dir, ['--force'], { SITE_URL: 'https://other.example' });
  const changes = (await changesSince(dir, first)) ?? [];
  expect(changes.map((line) => line.replace(/(?<=s\/).*/, ''))).toEqual([
    ...Array(3).fill('~ /platforms/'),
    ...Array(14).fill('~ /games/'),
  ]);
  await publish();
  expect(await changesSince(dir, first)).toEqual(changes);
});

test('the same content again, because a file was damaged, changes nothing', async () => {
  const { dir, first, publish } = await makeSite();
  rmSync(path.join(generationDir(dir, first), 'index/games.bin'));
  const { id } = await publish();
  expect(id).not.toBe(first);
  expect(await changesSince(dir, first)).toEqual([]);
});

test.each([
  ['index/games.bin', 'index/games.bin is damaged'],
  [SINCE_INDEX, 'index/since.bin is damaged'],
  [REMOVED, 'removed.json is damaged'],
])(
  'if %s of the current generation is damaged, the next one knows no older one, and a warning says so',
  async (name, fault) => {
    const { dir, first, publish } = await makeSite();
    appendFileSync(path.join(generationDir(dir, first), name), 'x');
    const { id, stderr } = await publish("UPDATE games SET description = 'Fast' WHERE id = 12");
    expect(stderr).toContain(
      `The changes since ${first} are not known to clients, which have to read the catalogue again: ${fault}`,
    );
    expect(await changesSince(dir, first)).toBeUndefined();
    await publish("UPDATE games SET description = 'Slow' WHERE id = 12");
    expect(await changesSince(dir, first)).toBeUndefined();
    expect(await changesSince(dir, id)).toEqual(['~ /games/snes/f-zero']);
  },
);

test('a generation that replaces one of another format version knows no older one', async () => {
  const { dir, first, publish } = await makeSite();
  const manifest = path.join(generationDir(dir, first), MANIFEST);
  const version = /(?<="format_version": )\d+/;
  writeFileSync(
    manifest,
    readFileSync(manifest, 'utf8').replace(version, String(FORMAT_VERSION - 1)),
  );
  const { id, stderr } = await publish();
  expect(stderr).toContain(`The changes since ${first} are not known to clients`);
  expect(await changesSince(dir, first)).toBeUndefined();
  expect(await changesSince(dir, id)).toEqual([]);
});
