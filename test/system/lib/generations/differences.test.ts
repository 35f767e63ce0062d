/**
 * A run writes what differs from the generation that it replaces, before the new one becomes current.
 * Whatever happens to the run, no difference says anything wrong.
 */
import { appendFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { CHANGES } from '#lib/format/layout.ts';
import { listDifferences, readDifference } from '#lib/generations/differences.ts';
import { currentId, generationDir } from '#lib/generations/generations.ts';
import { fixtureCatalogue } from '#test/catalogue/fixture.ts';
import { change } from '#test/support/databases.ts';
import { generate, runSnapshots } from '#test/support/product.ts';
import { makePublished, runGenerator } from '#test/support/wholeness.ts';

const namesIn = (dir: string) => readdirSync(path.join(dir, CHANGES));
const lastOf = (dir: string) => listDifferences(dir).at(-1);
/** The changes of the last difference. */
function changesIn(dir: string) {
  const last = lastOf(dir);
  if (last === undefined) throw new Error('There is no difference.');
  return [...readDifference(dir, last)];
}

/** A folder with one generation, and a function that publishes further ones. */
async function makeHistory() {
  const { database, snapshotsDir: dir } = await makePublished(fixtureCatalogue());
  const publish = async (...statements: string[]) => {
    await change(database.url, ...statements);
    const { stderr } = await generate(database.url, dir, ['--force']);
    return { id: currentId(dir) as string, stderr };
  };
  return { url: database.url, dir, first: currentId(dir) as string, publish };
}

test('each kind of change is one line, in the order of kind and id', async () => {
  const { dir, first, publish } = await makeHistory();
  expect(readdirSync(dir)).not.toContain(CHANGES);
  const { id } = await publish(
    "UPDATE games SET description = 'Fast' WHERE id = 12",
    "UPDATE games SET slug = 'metroid-3' WHERE id = 14",
    'UPDATE games SET platform_id = 3 WHERE id = 18',
    "INSERT INTO games (id, platform_id, slug, title) VALUES (9, 1, 'axelay', 'Axelay')",
    "UPDATE covers SET status = 'approved' WHERE id = 504",
    "UPDATE covers SET status = 'rejected' WHERE id = 506",
    "INSERT INTO platforms VALUES (4, 'new', 'New')",
  );
  expect(namesIn(dir)).toEqual([`000001-${first}-${id}.jsonl`]);
  const lines = changesIn(dir).map(
    ({ before, after, path: at }) => `${before === null ? '+' : after === null ? '-' : '~'} ${at}`,
  );
  expect(lines).toEqual([
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
  ]);
  const text = readFileSync(path.join(dir, CHANGES, namesIn(dir)[0] as string), 'utf8');
  expect(text.trimEnd().split('\n')).toHaveLength(12);
});

test('after a change of the settings, every record with an address has changed', async () => {
  const { url, dir, publish } = await makeHistory();
  await runGenerator(url, dir, ['--force'], { SITE_URL: 'https://other.example' });
  const changes = changesIn(dir);
  expect(changes.filter(({ before, after }) => before === null || after === null)).toEqual([]);
  expect(changes.map(({ kind }) => kind)).toEqual([
    ...Array(3).fill('platform'),
    ...Array(14).fill('game'),
  ]);
  await publish();
  expect(changesIn(dir)).toHaveLength(changes.length);
});

test('the same content again, because a file was damaged, is a difference without changes', async () => {
  const { dir, first, publish } = await makeHistory();
  rmSync(path.join(generationDir(dir, first), 'index/games.bin'));
  const { id } = await publish();
  expect(id).not.toBe(first);
  expect(lastOf(dir)).toMatchObject({ from: first, to: id });
  expect(changesIn(dir)).toEqual([]);
});

test('if the previous generation is damaged, the next one is published without a difference, with a warning', async () => {
  const { dir, first, publish } = await makeHistory();
  appendFileSync(path.join(generationDir(dir, first), 'index/games.bin'), 'x');
  const { stderr } = await publish("UPDATE games SET description = 'Fast' WHERE id = 12");
  expect(stderr).toContain(
    `The changes since ${first} are not known to clients, which have to read the catalogue again: index/games.bin is damaged`,
  );
  expect(lastOf(dir)).toBeUndefined();
  // The difference to the one after that is known again.
  await publish("UPDATE games SET description = 'Slow' WHERE id = 12");
  expect(changesIn(dir)).toHaveLength(1);
});

test('snapshot verify names a damaged difference, and what to do', async () => {
  const { dir, publish } = await makeHistory();
  await publish("UPDATE games SET description = 'Fast' WHERE id = 12");
  const good = await runSnapshots(dir, 'verify');
  expect([good.code, good.stdout]).toEqual([0, expect.stringContaining('undamaged: 1.')]);
  const [name = ''] = namesIn(dir);
  const file = path.join(dir, CHANGES, name);
  writeFileSync(file, readFileSync(file, 'utf8').replace('f-zero', 'f-zera'));
  const { code, stderr } = await runSnapshots(dir, 'verify');
  expect(code).toBe(1);
  expect(stderr).toContain(`changes/${name} cannot be used: its last line does not fit`);
});
