/** The verbs that back up and restore accounts, keys and their history. */
import type { Counts } from '../backup/backup-lines.ts';
import { exportBackup } from '../backup/export-backup.ts';
import { importBackup } from '../backup/import-backup.ts';
import { makeVerb, type Verb } from './arguments.ts';

export const BACKUP_VERBS: Readonly<Record<string, Verb>> = {
  export: makeVerb({
    usage: 'export FILE',
    help: 'Writes accounts, keys and their history to a new file, as a backup. It contains hashes, never keys.',
    options: {},
    positionals: ['FILE'],
    prepare:
      ({ positionals: [file] }) =>
      async (database) => {
        const counts = await exportBackup(database, file);
        const accounts =
          'accounts' in counts
            ? ''
            : ' Accounts are not in it: they are a view, or there are none. Back up those of your site separately.';
        return { message: `${file} has ${listed(counts)}.${accounts}` };
      },
  }),
  import: makeVerb({
    usage: 'import FILE [--add]',
    help: 'Restores a backup into empty tables, all of it or nothing. With --add, restores into tables with rows: adds the missing rows, and refuses if an existing row differs.',
    options: { add: { type: 'boolean' } },
    positionals: ['FILE'],
    prepare:
      ({ positionals: [file], options: { add } }) =>
      async (database) => {
        const { rows, added, hasAccountsView } = await importBackup(database, file, add === true);
        const accounts =
          hasAccountsView && 'accounts' in rows
            ? " The accounts were left out, because accounts is a view of your site's."
            : '';
        return {
          message: `${file} has ${listed(rows)}. Rows that were added: ${added}.${accounts}`,
        };
      },
  }),
};

function listed(counts: Counts): string {
  const parts = Object.entries(counts).map(([table, count]) => `${count} in ${table}`);
  return `these rows: ${parts.join(', ')}`;
}
