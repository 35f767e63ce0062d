/** Maps the names by which programs call platforms to slugs, with the names that the API lists. */
import type { Platform } from './contract-types.ts';

/** The slugs of the platforms that each name means; none if the catalogue has no such platform. */
export function mapPlatforms(
  platforms: readonly Platform[],
  names: readonly string[],
): Map<string, string[]> {
  const slugs = platforms.map(({ slug }) => slug);
  const byKey = new Map<string, string[]>();
  for (const { slug, aliases = [] } of platforms) {
    for (const key of new Set(aliases.map(keyOf))) {
      byKey.set(key, [...(byKey.get(key) ?? []), slug]);
    }
  }
  const find = (name: string) => {
    const own = slugs.filter((slug) => slug.toLowerCase() === name.toLowerCase());
    // As in "Nintendo - Nintendo DS (Encrypted)".
    const short = name.replace(/\([^)]*\)/g, '').replace(/^(\S+) [-–] (?=\1\b)/i, '');
    return own.length > 0 ? own : (byKey.get(keyOf(name)) ?? byKey.get(keyOf(short)) ?? []);
  };
  return new Map(names.map((name) => [name, find(name)]));
}

/** A name without case, accents, spaces and punctuation. */
function keyOf(name: string): string {
  const letters = name.replaceAll('+', ' plus ').normalize('NFKD').toLowerCase();
  return letters.replace(/[^\p{L}\p{N}]+/gu, '');
}
