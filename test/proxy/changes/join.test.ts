/** The changes of several differences, joined into one list. */
import { expect, test } from 'vitest';
import type { Change } from '../../../format/difference-file.ts';
import { joinDifferences } from '../../../proxy/changes/join.ts';

test('of a game that has moved to another path, the removal comes first, whatever the paths', () => {
  const game = (id: string, path: string, before: string | null, after: string | null): Change => ({
    kind: 'game',
    id,
    path,
    before,
    after,
  });
  const [one, two] = ['1'.repeat(16), '2'.repeat(16)];
  const changes = [
    game('7', '/games/nes/a', null, one),
    game('7', '/games/nes/z', two, null),
    game('8', '/games/nes/b', one, null),
    game('8', '/games/nes/y', null, two),
  ];
  const joined = (isReversed: boolean) =>
    [...joinDifferences([{ id: 'x', parent: 'w', isReversed }], () => changes)].map(
      ({ id, path, after }) => `${after === null ? '-' : '+'} ${id} ${path}`,
    );
  expect(joined(false)).toEqual([
    '- 7 /games/nes/z',
    '+ 7 /games/nes/a',
    '- 8 /games/nes/b',
    '+ 8 /games/nes/y',
  ]);
  expect(joined(true)).toEqual([
    '- 7 /games/nes/a',
    '+ 7 /games/nes/z',
    '- 8 /games/nes/y',
    '+ 8 /games/nes/b',
  ]);
});
