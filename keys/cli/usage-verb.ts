/** The verb `usage`: what a key has used on each day, or which keys were used most. */
import { KEPT_USAGE_DAYS } from '../../format/key-usage.ts';
import { ConfigurationError } from '../../program/environment/environment.ts';
import { findKey } from '../lifecycle/key-lists.ts';
import { mostUsedKeys, usageOf } from '../lifecycle/key-usage.ts';
import { noSuchKey } from '../lifecycle/refusal.ts';
import { idOf, makeVerb, type Verb } from './arguments.ts';
import { asJson, keyUsesAsTable, usageAsTable } from './text-tables.ts';

const DEFAULT_DAYS = 30;

export const USAGE_VERBS: Readonly<Record<string, Verb>> = {
  usage: makeVerb({
    usage: 'usage [ID] [--days N] [--json]',
    help: `Shows what a key has used on each of the last N days in UTC, today included (default: ${DEFAULT_DAYS}); without ID, what each key has used, the most used first.`,
    options: { days: { type: 'string' }, json: { type: 'boolean' } },
    positionals: [],
    optional: ['ID'],
    prepare({ positionals, options: { days: text = String(DEFAULT_DAYS), json } }) {
      const days = parseDays(text);
      if (positionals.length === 0) {
        return async (database) => {
          const uses = await mostUsedKeys(database, { days, now: new Date() });
          return { data: json ? asJson(uses) : keyUsesAsTable(uses) };
        };
      }
      const id = idOf(positionals);
      return async (database) => {
        if ((await findKey(database, id)) === undefined) throw noSuchKey(id);
        const usage = await usageOf(database, [id], { days, now: new Date() });
        const used = usage.get(id) ?? [];
        return { data: json ? asJson(used) : usageAsTable(used) };
      };
    },
  }),
};

function parseDays(text: string): number {
  const days = /^[1-9]\d{0,2}$/.test(text) ? Number(text) : 0;
  if (days >= 1 && days <= KEPT_USAGE_DAYS) return days;
  throw new ConfigurationError(
    `--days must be a whole number from 1 to ${KEPT_USAGE_DAYS}, not ${JSON.stringify(text)}.`,
  );
}
