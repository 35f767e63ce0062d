/**
 * A small generator of random numbers that are the same on every machine (mulberry32). It can start
 * at any index, so the data of the millionth game does not depend on the games before it.
 */

export type Random = ReturnType<typeof makeRandom>;

export function makeRandom(seed = 0) {
  let state = 0;
  /** Restarts the generator. The following numbers depend only on these three. */
  const start = (seed: number, stream: number, index: number) => {
    // Mixed, so that neighbouring indexes do not give neighbouring numbers.
    state = mix(mix(mix(seed | 0) ^ Math.imul(stream + 1, 0x9e3779b1)) ^ index);
  };
  /** A number from 0 to 1, exclusive. */
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  /** A whole number from 0 to `limit`, exclusive. */
  const below = (limit: number) => Math.floor(next() * limit);
  /** True with this probability (0 to 1). */
  const happens = (share: number) => next() < share;
  const pick = <T>(list: readonly T[]): T => list[below(list.length)];
  start(seed, 0, 0);
  return { start, next, below, happens, pick };
}

function mix(value: number): number {
  let mixed = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}
