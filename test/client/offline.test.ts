/** Search without a server (`client/offline.ts`), in the index of the sample catalogue. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { openSearch } from '#client/offline.ts';
import { makeSampleSnapshots } from '#test/catalogue/snapshots.ts';

const generation = path.join(await makeSampleSnapshots(), 'current');
const read = (name: string) => readFileSync(path.join(generation, name), 'utf8');
const searchJson = read('search.json');
const manifest = JSON.parse(read('manifest.json'));
const search = (await openSearch(searchJson, manifest)).search;

describe('a search', () => {
  test.each([
    ['chrono trigger', 'snes/chrono-trigger', 'exact'],
    ['chrono tr', 'snes/chrono-trigger', 'exact'],
    ['TRIGGER chrono', 'snes/chrono-trigger', 'exact'],
    ['pokemon snap', 'n64/pokemon-snap', 'exact'],
    ['final fantasy 7', 'ps1/final-fantasy-vii', 'exact'],
    ['super mario bros', 'nes/super-mario-bros', 'exact'],
    ['super mario brothers', 'nes/super-mario-bros', 'exact'],
    ['nhl 1994', 'mega-drive/nhl-94', 'exact'],
    ['rc pro am', 'nes/r-c-pro-am', 'exact'],
    ['crono triger', 'snes/chrono-trigger', 'near'],
    ['chrono trigger remastered', 'snes/chrono-trigger', 'partial'],
  ])('%j finds %s', (q, game, match) => {
    const found = search(q);
    expect(found.match).toBe(match);
    expect(found.games).toContain(game);
  });

  test('finds only games with every word', () => {
    const { games } = search('chrono');
    expect(games.toSorted()).toEqual(['ds/chrono-trigger', 'snes/chrono-trigger']);
    expect(search('chrono zelda').match).toBe('partial');
  });

  test.each(['', '!!!', 'zzzzz', 'zzzzz yyyyy'])('%j finds nothing', (q) => {
    expect(search(q)).toEqual({ match: undefined, games: [] });
  });

  test('reads only the first words of a long text', () => {
    const q = `${'ocarina '.repeat(8)}${'zzzzz '.repeat(50)}`;
    expect(search(q)).toEqual({
      match: 'exact',
      games: ['n64/the-legend-of-zelda-ocarina-of-time'],
    });
  });
});

describe('an index is refused', () => {
  const ERROR = 'Install the version of cover-catalogue-client that belongs to this API';

  test.each([
    ['made with other options', { minisearch_options: '0'.repeat(64) }],
    ['made with another version of Unicode than the manifest says', { unicode_version: '1.0' }],
  ])('if it was %s', async (_, change) => {
    await expect(openSearch(searchJson, { ...manifest, ...change })).rejects.toThrow(ERROR);
  });
});
