/** The reader in Python, which knows only what lib/format/README.md says, finds the product's bytes. */
import { execFile } from 'node:child_process';
import { appendFileSync, cpSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { runSnapshot } from '#cli/snapshot.ts';
import { CURRENT, FORMAT_VERSION } from '#lib/format/layout.ts';
import { makeFolder, ROOT, runCommand } from '#test/support/product.ts';

const FIXTURE = path.join(ROOT, 'test/fixtures/golden');

async function read(folder: string, ...paths: string[]): Promise<string> {
  const reader = path.join(ROOT, 'lib/format/reader.py');
  return (await promisify(execFile)('python3', [reader, folder, ...paths])).stdout;
}

test('it prints the bodies that the product prints', async () => {
  const show = async (target: string) =>
    (await runCommand(runSnapshot, ['show', target], { SNAPSHOTS_DIR: FIXTURE })).stdout;
  const platforms = JSON.parse(await show('/platforms')).data as { slug: string }[];
  const lists = platforms.map(({ slug }) => `/platforms/${slug}/games`);
  const bodies = await Promise.all(lists.map(show));
  const games = bodies.flatMap((body) => [
    ...body.matchAll(/"slug":"([^"]+)","title".*?"slug":"([^"]+)"/g),
  ]);
  const ofGames = games.flatMap(([, game, platform]) => {
    const target = `/games/${platform}/${game}`;
    return [target, `${target}/covers`];
  });
  const covers = await Promise.all(ofGames.filter((each) => each.endsWith('/covers')).map(show));
  const ofCovers = covers
    .flatMap((body) => [...body.matchAll(/^\{"id":(\d+)/gm)])
    .map(([, id]) => `/covers/${id}`);
  const targets = ['/platforms', '/stats', '/covers/recent', ...lists, ...ofGames, ...ofCovers];
  expect(targets.length).toBeGreaterThan(30);
  const expected = await Promise.all(targets.map(show));
  expect(await read(FIXTURE, ...targets)).toBe(expected.map((body) => `${body}\n`).join(''));
  expect(await read(FIXTURE, '/games/snes/none', '/covers/7')).toBe('not found\nnot found\n');
});

test('it refuses another version and a damaged file', async () => {
  const folder = path.join(makeFolder(), 'snapshots');
  cpSync(FIXTURE, folder, { recursive: true, verbatimSymlinks: true });
  appendFileSync(path.join(folder, CURRENT, 'games/snes.json'), ' ');
  await expect(read(folder)).rejects.toThrow('games/snes.json is damaged');
  const manifest = path.join(folder, CURRENT, 'manifest.json');
  const version = `"format_version": ${FORMAT_VERSION}`;
  writeFileSync(manifest, readFileSync(manifest, 'utf8').replace(version, `${version}0`));
  await expect(read(folder)).rejects.toThrow(`version ${FORMAT_VERSION}0, not ${FORMAT_VERSION}`);
});
