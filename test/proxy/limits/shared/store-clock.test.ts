/** When a change of the store's clock is noticed. */
import { expect, test } from 'vitest';
import { makeStoreClock } from '../../../../proxy/limits/shared/store-clock.ts';

/** A store whose clock is `ahead` of this proxy; a reply takes `wait`, and the clock is read in the middle. */
function makeReplies() {
  const clock = makeStoreClock();
  let now = 1_000;
  return (pass: number, ahead: number, wait = 1) => {
    now += pass;
    return clock.hasJumped(now + ahead, now - wait / 2, now + wait / 2);
  };
}

test('a clock that is only different, slow replies and a small drift are no jumps', () => {
  const reply = makeReplies();
  for (let i = 0; i < 600; i++) {
    // 0.05 % too fast: half a second in 1,000 seconds.
    expect(reply(1_000, 5e8 + i * 0.5, i % 10 === 0 ? 180 : 1)).toBe(false);
  }
});

test.each([80, 3_600_000, -80, -3_600_000])('a step of %i ms is a jump, once', (step) => {
  const reply = makeReplies();
  for (let i = 0; i < 5; i++) expect(reply(1_000, 7)).toBe(false);
  expect(reply(1_000, 7 + step)).toBe(true);
  for (let i = 0; i < 100; i++) expect(reply(1_000, 7 + step)).toBe(false);
});

test('a clock that runs 1 % fast is noticed within ten seconds', () => {
  const reply = makeReplies();
  const noticed = Array.from({ length: 10 }, (_, i) => reply(1_000, i * 10));
  expect(noticed).toContain(true);
});

test('a step between two replies that took long is noticed as soon as it is certain', () => {
  const reply = makeReplies();
  reply(1_000, 0, 1);
  expect(reply(1_000, 100, 190)).toBe(false);
  expect(reply(1_000, 100, 1)).toBe(true);
});
