/**
 * The addresses of platforms and games on the website of the catalogue: templates of the owner, GAME_URL and
 * PLATFORM_URL, with a value in each place such as `{game}`.
 */
import type { Settings } from '../../lib/format/manifest.ts';
import { VARIABLES } from '../../lib/program/environment/variables.ts';
import type { Platform } from './catalogue.ts';

/** Fills in the places that have values. All but SITE_URL, which is an address, are percent-encoded. */
function fillIn(
  template: string,
  { site_url, site_language }: Settings,
  values: Readonly<Record<string, string>>,
): string {
  const encoded = Object.entries({ language: site_language, ...values }).map(
    ([name, value]) => [name, encodeURIComponent(value)] as const,
  );
  const filled = new Map([['site', site_url], ...encoded]);
  return template.replaceAll(/\{(\w+)\}/g, (place, name) => filled.get(name) ?? place);
}

/** What an address has in the places of its template; nothing if it does not fit. */
function readPlaces(
  address: string,
  template: string,
  { site_url }: Settings,
): Readonly<Record<string, string>> {
  const places: string[] = [];
  const parts = template.split(/\{(\w+)\}/).map((part, at) => {
    if (at % 2 === 0 || part === 'site') return RegExp.escape(part === 'site' ? site_url : part);
    places.push(part);
    return '([^/?#&=]+)';
  });
  const found = new RegExp(`^${parts.join('')}$`).exec(address)?.slice(1) ?? [];
  return Object.fromEntries(found.map((value, at) => [places[at], value]));
}

function templateOfPlatforms({ platform_url = VARIABLES.PLATFORM_URL[0] }: Settings): string {
  return platform_url;
}

function templateOfGames({ game_url = VARIABLES.GAME_URL[0] }: Settings): string {
  return game_url;
}

export function platformUrl(settings: Settings, { slug, id }: Platform): string {
  return fillIn(templateOfPlatforms(settings), settings, { platform: slug, id });
}

/** What the address of a platform says of it, by the names of the places; nothing if it is no such address. */
export function readPlatformUrl(settings: Settings, address: string) {
  return readPlaces(address, templateOfPlatforms(settings), settings);
}

/** The address of a game on a platform, with the places `{game}` and `{id}`, which differ from game to game. */
export function gameUrlTemplate(settings: Settings, { slug }: Platform): string {
  return fillIn(templateOfGames(settings), settings, { platform: slug });
}

/** What the address of a game says of it, by the names of the places; nothing if it is no such address. */
export function readGameUrl(settings: Settings, address: string) {
  return readPlaces(address, templateOfGames(settings), settings);
}
