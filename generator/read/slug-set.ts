/**
 * Which slugs are taken on which platform: a hash table of places, so that a slug costs a few bytes
 * and is stored nowhere twice.
 */
import { equalsAscii, slugHash } from '../../format/index/record-index.ts';
import { doubledSlots, type HashSlots } from '../columns/hash-slots.ts';
import { growingColumns, type Texts } from '../columns/row-columns.ts';

export interface SlugSet {
  /** Takes the slug of a row that is in the texts already. @returns false when it was taken */
  add(platform: number, place: number, slug: string): boolean;
}

/** @param texts the slug of each row, in ASCII */
export function makeSlugSet({ chunks, columns: texts }: Texts): SlugSet {
  const { columns: known, reserve } = growingColumns({ platform: Uint32Array, hash: Uint32Array });
  // The place of each slug and one; at most half full.
  let slots: HashSlots = new Uint32Array(8192);
  let taken = 0;

  function isAt(place: number, slug: string): boolean {
    const chunk = chunks[texts.chunkOf[place]];
    const from = texts.start[place];
    return equalsAscii(slug, chunk, from, from + texts.length[place]);
  }

  return {
    add(platform, place, slug) {
      const hash = slugHash(platform, slug);
      const mask = slots.length - 1;
      let slot = hash & mask;
      for (; slots[slot] !== 0; slot = (slot + 1) & mask) {
        const other = slots[slot] - 1;
        if (known.platform[other] === platform && isAt(other, slug)) return false;
      }
      reserve(place);
      known.platform[place] = platform;
      known.hash[place] = hash;
      slots[slot] = place + 1;
      if (++taken * 2 > slots.length) slots = doubledSlots(slots, known.hash);
      return true;
    },
  };
}
