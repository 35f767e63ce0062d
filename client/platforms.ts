/** Maps the names by which programs call platforms to slugs, with the names that the API lists. */
import { platformKey, platformKeys } from '../find/names/platform-keys.ts';
import type { ListedPlatform } from './contract-types.ts';

/** The slugs of the platforms that each name means; none if the catalogue has no such platform. */
export function mapPlatforms(
  platforms: readonly ListedPlatform[],
  names: readonly string[],
): Map<string, string[]> {
  const slugs = platforms.map(({ slug }) => slug);
  const byKey = new Map<string, string[]>();
  for (const { slug, aliases = [] } of platforms) {
    for (const key of new Set(aliases.map(platformKey))) {
      byKey.set(key, [...(byKey.get(key) ?? []), slug]);
    }
  }
  const find = (name: string) => {
    const own = slugs.filter((slug) => slug.toLowerCase() === name.toLowerCase());
    const named = platformKeys(name).map((key) => byKey.get(key));
    return own.length > 0 ? own : (named.find(Boolean) ?? []);
  };
  return new Map(names.map((name) => [name, find(name)]));
}
