/** How changes are shown: what happened to most records first. */
import { expect, test } from 'vitest';
import { changeLines, type RecordChange } from '#cli/snapshot/diff.ts';

const game = {
  change: 'added',
  kind: 'game',
  id: '1',
  path: '/games/snes/a',
  members: [],
} as const;
/** Of these covers, the last ones also have other widths. */
const covers: RecordChange[] = Array.from({ length: 4727 }, (_, at) => ({
  ...{ change: 'changed', kind: 'cover', id: String(at), path: `/covers/${at}` },
  members: [
    ['type', 'front', 'frente'],
    ...(at < 4715
      ? []
      : ([
          ['files[0].width', 1, 2],
          ['files[1].width', 3, 4],
        ] as const)),
  ],
}));

test('changes begin with a summary and 20 lines, and --all shows the others', () => {
  const changes = [game, ...covers];
  const summary = '4,727 covers changed: type, files.width (12); 1 game added';
  const [first, ...lines] = changeLines(() => changes, false);
  expect([first, lines]).toEqual([
    summary,
    [
      '+ /games/snes/a',
      ...covers.slice(0, 19).map(({ path }) => `~ ${path}  type: "front" → "frente"`),
      '… and 4,708 more: --all shows them',
    ],
  ]);
  const all = [...changeLines(() => changes, true)];
  expect([all[0], all.length, all.at(-1)]).toEqual([
    summary,
    4729,
    '~ /covers/4726  type: "front" → "frente", files[0].width: 1 → 2, files[1].width: 3 → 4',
  ]);
  expect([...changeLines(() => changes.slice(0, 20), false)]).toHaveLength(21);
  expect([...changeLines(() => [], false)]).toEqual([]);
});
