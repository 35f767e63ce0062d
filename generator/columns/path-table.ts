/**
 * A hash table of games by platform and slug. It finds a slug that appears twice on its platform. Only the
 * index of each row is stored: a set of the slugs would take several times as much memory.
 */
import { slugHash } from '../../format/index/record-index.ts';
import type { TextsBuilder } from './texts.ts';

export interface PathTable {
  /**
   * Adds a row, whose slug must be in the texts already.
   * @returns false if another row has the same slug on the same platform
   */
  add(platform: number, slug: string, row: number): boolean;
}

const FIRST_SLOTS = 1024;

/** @param platformOf returns the platform of a row that was added */
export function makePathTable(slugs: TextsBuilder, platformOf: (row: number) => number): PathTable {
  // A slot holds the index of a row plus 1, or 0 if it is empty. At most half of them are taken.
  let slots = new Uint32Array(FIRST_SLOTS);
  let hashes = new Uint32Array(FIRST_SLOTS);
  let rows = 0;

  function enlarge(): void {
    const [before, hashesBefore] = [slots, hashes];
    slots = new Uint32Array(before.length * 2);
    hashes = new Uint32Array(before.length * 2);
    const mask = slots.length - 1;
    for (let from = 0; from < before.length; from++) {
      if (before[from] === 0) continue;
      let slot = hashesBefore[from] & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = before[from];
      hashes[slot] = hashesBefore[from];
    }
  }

  return {
    add(platform, slug, row) {
      if (rows * 2 >= slots.length) enlarge();
      const hash = slugHash(platform, slug);
      const mask = slots.length - 1;
      let slot = hash & mask;
      for (; slots[slot] !== 0; slot = (slot + 1) & mask) {
        const other = slots[slot] - 1;
        if (hashes[slot] !== hash || platformOf(other) !== platform) continue;
        if (slugs.isAscii(other, slug)) return false;
      }
      slots[slot] = row + 1;
      hashes[slot] = hash;
      rows++;
      return true;
    },
  };
}
