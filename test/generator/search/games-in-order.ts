/** The games of a generation in title order, sorted by the collator, which defines that order. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { makeCollator } from '../../../generator/order/title-order.ts';

export interface GameInOrder {
  readonly id: number;
  readonly slug: string;
  readonly title: string;
  /** The slug of its platform. */
  readonly platform: string;
}

export function gamesInOrder(generation: string): GameInOrder[] {
  const collator = makeCollator();
  return readdirSync(path.join(generation, 'games'))
    .flatMap((name) => JSON.parse(readFileSync(path.join(generation, 'games', name), 'utf8')))
    .map(({ id, slug, title, platform }) => ({ id, slug, title, platform: platform.slug }))
    .sort(
      (a, b) =>
        collator.compare(a.title, b.title) ||
        (a.platform < b.platform ? -1 : a.platform > b.platform ? 1 : a.id - b.id),
    );
}
