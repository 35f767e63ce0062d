/** Lines of `removed.json`: what is written is read, and nothing else. */
import { expect, test } from 'vitest';
import {
  encodeRemovedFile,
  parseRemovedFile,
  type RemovedFile,
  type RemovedRecord,
} from '#lib/format/index/removed.ts';

const SEQUENCE = 9;
const past = (sequence: number) => ({
  id: `00000${sequence}-0123456789ab`,
  published_at: `2026-11-0${sequence}T00:00:00Z`,
});
const cover = (id: string, added = 2, removed = 5): RemovedRecord => ({
  kind: 'cover',
  id,
  path: `/covers/${id}`,
  added,
  removed,
});
const FILE: RemovedFile = {
  generations: [past(1), past(4), past(8)],
  removed: [
    {
      kind: 'platform',
      id: '000004-0123456789ab',
      path: '/platforms/000004-0123456789ab',
      added: 1,
      removed: 9,
    },
    { kind: 'platform', id: 'n64', path: '/platforms/n64', added: 1, removed: 4 },
    { kind: 'game', id: '7', path: '/games/n64/7', added: 1, removed: 4 },
    { kind: 'game', id: '7', path: '/games/snes/7', added: 5, removed: 9 },
    cover('9'),
    cover('10'),
    cover('18446744073709551615'),
  ],
};

test.each([
  ['empty', { generations: [], removed: [] }],
  ['full', FILE],
])('an %s file is JSON, and read as it was written', (_, file) => {
  const text = encodeRemovedFile(file);
  expect(parseRemovedFile(text, SEQUENCE)).toEqual(file);
  const { generations, removed } = JSON.parse(text);
  expect([generations, removed.length]).toEqual([file.generations, file.removed.length]);
});

test.each<[string, (text: string) => string, number?]>([
  ['a space', (text) => text.replace('","', '", "')],
  ['a missing end', (text) => text.slice(0, -1)],
  ['a line of something else', (text) => text.replace('"kind":"game"', '"kind":"page"')],
  ['a generation that is not earlier', (text) => text, 8],
  ['a removal in a later generation', (text) => text.replaceAll('"removed":9', '"removed":10')],
  ['a time that is none', (text) => text.replace('2026-11-01', '2026-13-01')],
  ['a record that appeared after its removal', (text) => text.replace('"added":2', '"added":5')],
  [
    'an id that is too large',
    (text) => text.replaceAll('18446744073709551615', '18446744073709551616'),
  ],
  ['records in another order', (text) => text.replaceAll('10', '8')],
])('a file with %s is refused', (_, damage, sequence = SEQUENCE) => {
  const text = damage(encodeRemovedFile(FILE));
  expect(() => parseRemovedFile(text, sequence)).toThrow('removed.json is damaged: ');
});
