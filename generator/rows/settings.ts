/** The settings that a generation contains, and the variables that they come from: with other values, all rows are read. */
import type { Settings } from '../../lib/format/manifest.ts';
import type { Environment } from '../../lib/program/environment/environment.ts';
import { VARIABLES, type VariableName } from '../../lib/program/environment/variables.ts';

export const SETTING_VARIABLES = [
  'SITE_URL',
  'SITE_LANGUAGE',
  'FILES_URL',
  'GAME_URL',
  'PLATFORM_URL',
  'FRONT_TYPES',
] as const satisfies readonly VariableName[];
type SettingVariable = (typeof SETTING_VARIABLES)[number];

export function settingsOf(
  read: <Name extends SettingVariable>(variable: Name) => Environment<Name>[Name],
): Settings {
  const [gameUrl, platformUrl, fronts] = [
    read('GAME_URL'),
    read('PLATFORM_URL'),
    read('FRONT_TYPES'),
  ];
  // The usual ones are left out, so that the bytes of other generations do not depend on them.
  return {
    site_url: read('SITE_URL'),
    site_language: read('SITE_LANGUAGE'),
    files_url: read('FILES_URL'),
    ...(gameUrl !== VARIABLES.GAME_URL[0] && { game_url: gameUrl }),
    ...(platformUrl !== VARIABLES.PLATFORM_URL[0] && { platform_url: platformUrl }),
    ...(fronts.join() !== VARIABLES.FRONT_TYPES[0] && { front_types: fronts }),
  };
}
