/** The games of a catalogue as the search and the lists of the API see them, in title order. */
import type { Catalogue } from '#demo/catalogue/load.ts';

export interface ReferenceGame {
  readonly id: string;
  /** The slug of its platform. */
  readonly platform: string;
  readonly slug: string;
  readonly title: string;
  readonly year: number | null;
  readonly genres: string | null;
  /** How many approved covers it has, and their regions and types in lower case. */
  readonly covers: number;
  readonly regions: ReadonlySet<string>;
  readonly types: ReadonlySet<string>;
}

const collator = new Intl.Collator('en-u-kn', { sensitivity: 'base' });

/** The games of a catalogue in title order. */
export function referenceGames(catalogue: Catalogue): ReferenceGame[] {
  const platforms = new Map([...catalogue.platforms].map(([id, slug]) => [id, String(slug)]));
  const covers = new Map<unknown, { count: number; regions: Set<string>; types: Set<string> }>();
  for (const [, game, region, type, status] of catalogue.covers) {
    if (status !== 'approved') continue;
    const known = covers.get(game) ?? { count: 0, regions: new Set(), types: new Set() };
    covers.set(game, known);
    known.count++;
    if (region !== null) known.regions.add(String(region).toLowerCase());
    if (type !== null) known.types.add(String(type).toLowerCase());
  }
  return [...catalogue.games]
    .map(([id, platform, slug, title, year, , genres]) => ({
      id: String(id),
      platform: platforms.get(platform) ?? '',
      slug: String(slug),
      title: String(title),
      year: year === null ? null : Number(year),
      genres: genres === null ? null : String(genres),
      covers: covers.get(id)?.count ?? 0,
      regions: covers.get(id)?.regions ?? new Set<string>(),
      types: covers.get(id)?.types ?? new Set<string>(),
    }))
    .sort(compareTitles);
}

export function compareTitles(a: ReferenceGame, b: ReferenceGame): number {
  return (
    collator.compare(a.title, b.title) ||
    (a.platform < b.platform ? -1 : a.platform > b.platform ? 1 : 0) ||
    (BigInt(a.id) < BigInt(b.id) ? -1 : 1)
  );
}
