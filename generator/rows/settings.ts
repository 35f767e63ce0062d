/** The settings that records contain, and the variables that they come from: with other values, all rows are read. */
import type { Settings } from '../../lib/format/manifest.ts';
import type { VariableName } from '../../lib/program/environment/variables.ts';

const VARIABLE_OF = {
  site_url: 'SITE_URL',
  site_language: 'SITE_LANGUAGE',
  files_url: 'FILES_URL',
} as const satisfies Readonly<Record<keyof Settings, VariableName>>;
type SettingVariable = (typeof VARIABLE_OF)[keyof typeof VARIABLE_OF];

export const SETTING_VARIABLES: readonly SettingVariable[] = Object.values(VARIABLE_OF);

export function settingsOf(read: (variable: SettingVariable) => string): Settings {
  const { site_url, site_language, files_url } = VARIABLE_OF;
  return {
    site_url: read(site_url),
    site_language: read(site_language),
    files_url: read(files_url),
  };
}
