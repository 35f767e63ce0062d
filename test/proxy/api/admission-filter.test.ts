/** The admission filter: which targets are worth caching. */
import { expect, test } from 'vitest';
import { makeAdmissionFilter } from '../../../proxy/api/admission-filter.ts';

test('a target is known from its second request on', () => {
  const { isKnown } = makeAdmissionFilter();
  expect(isKnown('/games/snes/chrono-trigger')).toBe(false);
  expect(isKnown('/games/snes/chrono-trigger')).toBe(true);
  expect(isKnown('/games/snes/chrono-trigger')).toBe(true);
});

test('hardly any of many different targets is mistaken for an earlier one', () => {
  const { isKnown } = makeAdmissionFilter();
  let known = 0;
  for (let i = 0; i < 200_000; i++) if (isKnown(`/games/snes/game-${i}`)) known++;
  expect(known).toBeLessThan(20);
});

test('a target that is requested regularly is remembered among many others', () => {
  const { isKnown } = makeAdmissionFilter();
  isKnown('/stats');
  let forgotten = 0;
  for (let i = 0; i < 50_000; i++) {
    isKnown(`/games/snes/game-${i}`);
    if (i % 10 === 0 && !isKnown('/stats')) forgotten++;
  }
  expect(forgotten).toBeLessThan(10);
});
