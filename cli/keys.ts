/**
 * `cover-catalogue keys VERB …`: operators issue, review and revoke API keys in the catalogue's
 * database, and manage accounts. Data goes to stdout, everything else to stderr. A raw key is printed
 * once, and stdout contains nothing else. Exit codes: 0 done, 1 failed or refused, 2 wrong arguments or
 * environment.
 */

import { ACCOUNT_VERBS } from '../keys/cli/account-verbs.ts';
import { KEY_VERBS } from '../keys/cli/key-verbs.ts';
import { mailSignature } from '../keys/mail/mail-texts.ts';
import { createKeysTables, KEYS_TABLES } from '../keys/tables/schema.ts';
import { openDatabase } from '../lib/database/open.ts';
import { checkTables } from '../lib/database/tables.ts';
import { readVerb } from '../lib/program/arguments.ts';
import { readEnvironment } from '../lib/program/environment/environment.ts';
import { makeCommand } from '../lib/program/failure.ts';
import type { Invocation } from '../lib/program/invocation.ts';

export const VERBS = [...KEY_VERBS, ...ACCOUNT_VERBS];

export const runKeys = makeCommand(runVerb);

async function runVerb({ words, stdout, stderr, ...rest }: Invocation): Promise<number> {
  const summary = 'API keys and accounts in the database of DATABASE_URL.';
  const program = { name: 'cover-catalogue keys', summary, verbs: VERBS };
  const { verb, args } = readVerb(program, words);
  const environment = readEnvironment(
    [
      'DATABASE_URL',
      'DEFAULT_RATE_LIMIT',
      'PUBLIC_URL',
      'SMTP_URL',
      'MAIL_FROM',
      'MAIL_FOLDER',
      'SITE_NAME',
      'SITE_CONTACT',
      'SNAPSHOTS_DIR',
    ],
    rest.variables(),
  );
  const run = verb.prepare(args, {
    defaultLimit: environment.DEFAULT_RATE_LIMIT,
    publicUrl: environment.PUBLIC_URL,
    snapshotsDir: environment.SNAPSHOTS_DIR,
    mail: {
      smtpUrl: environment.SMTP_URL,
      folder: environment.MAIL_FOLDER,
      from: environment.MAIL_FROM,
      signature: mailSignature(environment),
    },
  });
  const database = await openDatabase(environment.DATABASE_URL);
  try {
    await createKeysTables(database);
    await checkTables(database, KEYS_TABLES);
    const { data = '', message } = await run(database);
    if (message !== undefined) stderr.write(`${message}\n`);
    stdout.write(data);
    return 0;
  } finally {
    await database.close();
  }
}
