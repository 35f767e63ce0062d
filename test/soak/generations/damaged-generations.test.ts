/**
 * A damaged generation is never served, whatever byte of whatever file is damaged: random damages. The
 * kinds of damage are checked file by file in `test/system/generations/damaged-generation.test.ts`.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { makeRandom } from '../../../demo/catalogue/random.ts';
import { MANIFEST } from '../../../format/layout.ts';
import { openSnapshots } from '../../../proxy/snapshot/snapshots.ts';
import { DAMAGE, makeDamagedGenerations } from '../../proxy/snapshot/damage.ts';
import { printFigure, rounds } from '../rounds.ts';

const PROMISE = 'A damaged generation is never served';
const DAMAGES = rounds(40, 500);

test(`each of ${DAMAGES} damaged generations is refused, and the old one stays`, async () => {
  const generations = await makeDamagedGenerations(200, 5);
  const { dir, older, newer, newerDir, undamaged, files, restore, pointTo } = generations;
  const manifest = JSON.parse(readFileSync(path.join(undamaged, MANIFEST), 'utf8'));
  const refused: string[] = [];
  const events = { swapped: () => {}, refused: (id: string) => refused.push(id) };
  const open = () =>
    openSnapshots(
      dir,
      async () => {},
      events,
      () => 0,
    );
  let snapshots = open();
  let harmless = 0;
  for (let seed = 0; seed < DAMAGES; seed++) {
    const random = makeRandom(seed);
    // The manifest is damaged in a third of the cases, because all other checks depend on it.
    const file = random.happens(0.3) ? MANIFEST : random.pick(files);
    const kind = random.pick(Object.keys(DAMAGE) as (keyof typeof DAMAGE)[]);
    restore();
    const target = path.join(newerDir, file);
    DAMAGE[kind](target, random.next());
    pointTo(older);
    await snapshots.refresh();
    expect(snapshots.refusal()).toBeUndefined();
    pointTo(newer);
    await snapshots.refresh();
    const what = `${file} ${kind} (seed ${seed})`;
    if (snapshots.current()?.id === newer) {
      // Only white space of the manifest has changed, so its content is still the same.
      expect(file, what).toBe(MANIFEST);
      expect(JSON.parse(readFileSync(target, 'utf8')), what).toEqual(manifest);
      harmless++;
      // Otherwise the generation would stay open and not be read again.
      snapshots.close();
      snapshots = open();
    } else {
      expect(snapshots.current()?.id, what).toBe(older);
      expect(refused.splice(0), what).toEqual([newer]);
      expect(snapshots.refusal()?.id, what).toBe(newer);
      expect(snapshots.refusal()?.error.message, what).not.toBe('');
    }
  }
  snapshots.close();
  expect(harmless).toBeLessThan(DAMAGES / 20);
  printFigure(
    PROMISE,
    `${DAMAGES} damaged generations, ${DAMAGES - harmless} refused, ${harmless} changed only in white space`,
  );
});
