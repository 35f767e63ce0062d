/** Runs `cover-catalogue keys` in this process, with the same arguments, output and exit codes. */
import type { Database } from '../../database/database.ts';
import { openDatabase } from '../../database/open.ts';
import { readCommand } from '../../keys/cli/run-keys.ts';
import { createKeysTables } from '../../keys/tables/schema.ts';
import { ConfigurationError } from '../../program/environment/environment.ts';
import { type Kind, makeDatabase } from '../support/databases.ts';

export const PUBLIC_URL = 'https://covers.example';

export interface Answer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Mailing {
  readonly smtpUrl: string;
  readonly folder: string;
  readonly from: string;
}

/** Creates an empty database with the tables of keys. */
export async function openKeyTables(kind: Kind): Promise<Database & { readonly url: string }> {
  const url = await makeDatabase(kind);
  const database = await openDatabase(url);
  await createKeysTables(database);
  return { ...database, url };
}

/** Runs a verb as `keys/cli/main.ts` does, on a database with the tables. */
export async function runKeys(
  database: Database,
  words: readonly string[],
  mail: Partial<Mailing> = {},
): Promise<Answer> {
  try {
    const command = readCommand(words);
    if ('text' in command) return { code: 0, stdout: command.text, stderr: '' };
    const run = command.prepare({
      defaultLimit: 120,
      publicUrl: PUBLIC_URL,
      mail: { smtpUrl: '', folder: '/nowhere', from: 'no-reply@covers.example', ...mail },
    });
    const { data = '', message } = await run(database);
    return { code: 0, stdout: data, stderr: message === undefined ? '' : `${message}\n` };
  } catch (error) {
    const code = error instanceof ConfigurationError ? 2 : 1;
    return { code, stdout: '', stderr: `${(error as Error).message.trimEnd()}\n` };
  }
}
