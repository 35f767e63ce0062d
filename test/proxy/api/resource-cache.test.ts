/** The cache of resources keeps those of targets that are worth it: which they are. */
import { expect, test } from 'vitest';
import { makeFilter } from '#proxy/api/resource-cache.ts';

test('a target is known from its second request on', () => {
  const isKnown = makeFilter();
  expect(isKnown('/games/snes/chrono-trigger')).toBe(false);
  expect(isKnown('/games/snes/chrono-trigger')).toBe(true);
  expect(isKnown('/games/snes/chrono-trigger')).toBe(true);
});

test('hardly any of many different targets is mistaken for an earlier one', () => {
  const isKnown = makeFilter();
  let known = 0;
  for (let i = 0; i < 200_000; i++) if (isKnown(`/games/snes/game-${i}`)) known++;
  expect(known).toBeLessThan(20);
});

test('a target that is requested regularly is remembered among many others', () => {
  const isKnown = makeFilter();
  isKnown('/stats');
  let forgotten = 0;
  for (let i = 0; i < 50_000; i++) {
    isKnown(`/games/snes/game-${i}`);
    if (i % 10 === 0 && !isKnown('/stats')) forgotten++;
  }
  expect(forgotten).toBeLessThan(10);
});
