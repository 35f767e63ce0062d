/**
 * `cover-catalogue keys VERB …`: operators issue, review and revoke API keys in the catalogue's
 * database, and manage accounts. Exit codes: 0 done, 1 failed or refused, 2 wrong arguments or
 * environment.
 */
import '../../program/environment/node-version.ts';
import '../../program/standard-output.ts';
import { openDatabase } from '../../database/open.ts';
import { checkTables } from '../../database/tables.ts';
import { loadEnvironmentFile, readEnvironment } from '../../program/environment/environment.ts';
import { reportFailure } from '../../program/failure.ts';
import { createKeysTables, KEYS_TABLES } from '../tables/schema.ts';
import { readCommand } from './command-line.ts';

async function main(words: readonly string[]): Promise<void> {
  const command = readCommand(words);
  if (command.text !== undefined) {
    process.stdout.write(command.text);
    return;
  }
  loadEnvironmentFile();
  const environment = readEnvironment([
    'DATABASE_URL',
    'DEFAULT_RATE_LIMIT',
    'PUBLIC_URL',
    'SMTP_URL',
    'MAIL_FROM',
    'MAIL_FOLDER',
  ]);
  const run = command.prepare({
    defaultLimit: environment.DEFAULT_RATE_LIMIT,
    publicUrl: environment.PUBLIC_URL,
    mail: {
      smtpUrl: environment.SMTP_URL,
      folder: environment.MAIL_FOLDER,
      from: environment.MAIL_FROM,
    },
  });
  const database = await openDatabase(environment.DATABASE_URL);
  try {
    await createKeysTables(database);
    await checkTables(database, KEYS_TABLES);
    const { data = '', message } = await run(database);
    if (message !== undefined) process.stderr.write(`${message}\n`);
    process.stdout.write(data);
  } finally {
    await database.close();
  }
}

main(process.argv.slice(2)).catch((error: Error) => {
  process.exitCode = reportFailure(error);
});
