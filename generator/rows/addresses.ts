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

export function platformUrl(settings: Settings, { slug, id }: Platform): string {
  const { platform_url: template = VARIABLES.PLATFORM_URL[0] } = settings;
  return fillIn(template, settings, { platform: slug, id });
}

/** The address of a game on a platform, with the places `{game}` and `{id}`, which differ from game to game. */
export function gameUrlTemplate(settings: Settings, { slug }: Platform): string {
  const { game_url: template = VARIABLES.GAME_URL[0] } = settings;
  return fillIn(template, settings, { platform: slug });
}
