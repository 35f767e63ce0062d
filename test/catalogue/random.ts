/**
 * A small source of random numbers that gives the same ones on every machine: mulberry32. It can be
 * set to any place at once, so what belongs to the millionth game is made without the ones before.
 */

export interface Random {
  /** Starts anew: the numbers that follow depend on these three alone. */
  start(seed: number, stream: number, place: number): void;
  /** From 0 up to but not including 1. */
  next(): number;
  /** A whole number from 0 up to but not including `limit`. */
  below(limit: number): number;
  /** Whether something that happens this often (0 to 1) happens now. */
  happens(share: number): boolean;
  pick<T>(list: readonly T[]): T;
}

export function makeRandom(seed = 0): Random {
  let state = 0;
  const start = (seed: number, stream: number, place: number) => {
    // Neighbouring places must not give neighbouring numbers.
    state = mix(mix(mix(seed | 0) ^ Math.imul(stream + 1, 0x9e3779b1)) ^ place);
  };
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  start(seed, 0, 0);
  return {
    start,
    next,
    below,
    happens: (share) => next() < share,
    pick: (list) => list[below(list.length)] as never,
  };
}

function mix(value: number): number {
  let mixed = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}
