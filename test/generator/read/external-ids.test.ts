/** Ids of other sources: which rows are left out, and under which spelling a generation has them. */

import { expect, test } from 'vitest';
import { checkIds, type OptionalTables } from '#generator/read/optional-tables.ts';
import { Report } from '#generator/report/report.ts';
import type { PlatformNumber } from '#generator/rows/catalogue.ts';
import { numberAt } from '#lib/columns/numbers.ts';
import { textOfId } from '#lib/format/index/ids.ts';

const PUBLISHED = new Set(['1', '2', '9223372036854775807']);
const PLATFORMS = {
  platforms: [],
  numberOf: new Map([
    ['7', numberAt<PlatformNumber>(1)],
    ['8', numberAt<PlatformNumber>(0)],
  ]),
  allIds: new Set(['7', '8']),
  asText: '',
};

function check(rows: OptionalTables) {
  const report = new Report();
  for (const table of ['game_ids', 'platform_ids'] as const) report.setRows(table, 10);
  const { ofGames, ofPlatforms } = checkIds(rows, report, PLATFORMS, (id) =>
    PUBLISHED.has(textOfId(id)),
  );
  const leftOut = report.content().rows.map(({ table, id, reason }) => [table, id, reason]);
  return {
    games: Object.fromEntries(ofGames),
    platforms: Object.fromEntries(ofPlatforms),
    leftOut,
  };
}

test('ids are kept in one spelling, each once for a game, and may have several games', () => {
  const found = check({
    game_ids: [
      [1, 'serial', 'slus_208.51'],
      [1, 'Serial', 'SLUS-20851'],
      [2, 'serial', 'SLUS 20851'],
      ['9223372036854775807', 'sha1', 'ABCDEF'],
      [2, 'igdb', 1022],
      [2, 'serial', 'A/B'],
    ],
    platform_ids: [
      [7, 'igdb', '19'],
      [8, 'IGDB', 19],
    ],
  });
  expect(found).toEqual({
    games: {
      'serial:SLUS-20851': ['1', '2'],
      'sha1:abcdef': ['9223372036854775807'],
      'igdb:1022': ['2'],
      'serial:A/B': ['2'],
    },
    platforms: { 'igdb:19': [0, 1] },
    leftOut: [],
  });
});

test('rows that break the contract are left out and reported', () => {
  const { games, platforms, leftOut } = check({
    game_ids: [
      [77, 'igdb', '1'],
      [null, 'igdb', '1'],
      [1, '', '1'],
      [1, 'two words', '1'],
      [1, 'igdb', null],
    ],
    platform_ids: [[9, 'igdb', '1']],
  });
  expect([games, platforms]).toEqual([{}, {}]);
  expect(leftOut).toEqual([
    ['game_ids', null, 'game_id is NULL'],
    ['game_ids', 77, 'its game does not exist or is left out'],
    ['game_ids', 1, 'source has other characters than letters, digits, - and _'],
    ['game_ids', 1, 'source is empty'],
    ['game_ids', 1, 'value is empty'],
    ['platform_ids', 9, 'its platform does not exist or is left out'],
  ]);
});
