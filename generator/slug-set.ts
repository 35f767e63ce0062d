/**
 * Which slugs are taken on which platform: a hash table of places, so that a slug costs a few bytes
 * and is stored nowhere twice.
 */
import { slugHash } from '../format/record-index.ts';
import type { Texts } from './row-columns.ts';

export interface SlugSet {
  /** Takes the slug of a row that is in the texts already. @returns false when it was taken */
  add(platform: number, place: number, slug: string): boolean;
}

/** @param rows how many there may be @param slugs of each row, in ASCII */
export function makeSlugSet(rows: number, { chunks, chunkOf, start, length }: Texts): SlugSet {
  // At most half full.
  const slots = new Uint32Array(2 ** Math.ceil(Math.log2(Math.max(rows, 1) * 2)));
  const platformOf = new Uint32Array(rows);
  const mask = slots.length - 1;

  function isAt(place: number, slug: string): boolean {
    if (length[place] !== slug.length) return false;
    const chunk = chunks[chunkOf[place] as number] as Uint8Array;
    const from = start[place] as number;
    for (let i = 0; i < slug.length; i++) if (chunk[from + i] !== slug.charCodeAt(i)) return false;
    return true;
  }

  return {
    add(platform, place, slug) {
      let slot = slugHash(platform, slug) & mask;
      for (; slots[slot] !== 0; slot = (slot + 1) & mask) {
        const other = (slots[slot] as number) - 1;
        if (platformOf[other] === platform && isAt(other, slug)) return false;
      }
      slots[slot] = place + 1;
      platformOf[place] = platform;
      return true;
    },
  };
}
