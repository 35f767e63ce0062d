/** A list of changes is exact, or there is none: after random damages, the file at fault is named. */
import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { makeRandom } from '../../../../demo/catalogue/random.ts';
import { differenceOf, joinExactly, makeHistory } from '../../../proxy/changes/history.ts';
import { printFigure, rounds } from '../../rounds.ts';

const DAMAGES = rounds(400, 10_000);

test(`after each of ${DAMAGES} random damages, a list is exact or refused`, async () => {
  const history = await makeHistory(5);
  const ids = [...history.states.keys()];
  const ends = [ids[0], ids.at(-1) as string] as const;
  const random = makeRandom(17);
  const figures = { refused: 0, failed: 0, gone: 0, joined: 0 };
  for (let round = 0; round < DAMAGES; round++) {
    const id = random.pick(ids.slice(1));
    const file = differenceOf(history, id);
    const good = readFileSync(file);
    const lines = good.toString().split('\n');
    const at = random.below(good.length);
    const line = random.below(lines.length - 1);
    const [name, damage] = random.pick<[string, () => Buffer]>([
      ['a changed byte', () => Buffer.from(good.with(at, good[at] ^ (1 + random.below(255))))],
      ['a cut', () => good.subarray(0, at)],
      [
        'missing bytes',
        () => Buffer.concat([good.subarray(0, at), good.subarray(at + 1 + random.below(200))]),
      ],
      [
        'bytes twice',
        () => Buffer.concat([good.subarray(0, at), good.subarray(random.below(at + 1))]),
      ],
      ['a missing line', () => Buffer.from(lines.toSpliced(line, 1).join('\n'))],
      ['a line twice', () => Buffer.from(lines.toSpliced(line, 0, lines[line]).join('\n'))],
    ]);
    const bytes = damage();
    writeFileSync(file, bytes);
    const [from, to] = ends;
    const reply = joinExactly(history, from, to);
    const what = `${name} at ${at} of ${id}, ${from} to ${to}`;
    figures[reply.outcome]++;
    if (reply.outcome === 'joined') expect(good.equals(bytes), what).toBe(true);
    if (reply.outcome === 'refused') expect(reply.message, what).toContain(id);
    writeFileSync(file, good);
  }
  expect(figures.refused).toBeGreaterThan(DAMAGES / 2);
  printFigure(
    'A list of changes is exact',
    `${DAMAGES} damaged differences: ${figures.refused} refused, ${figures.gone} led nowhere, ${figures.joined} unchanged by the damage; 0 wrong lists`,
  );
});
