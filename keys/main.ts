/**
 * `npm run keys -- VERB …`: operators issue, review and revoke API keys in the catalogue's
 * database. Exit codes: 0 done, 1 failed or refused, 2 wrong arguments or environment.
 */
import '../environment/node-version.ts';
import { parseArgs } from 'node:util';
import { openDatabase } from '../database/open.ts';
import { checkSchema, createKeysTables, KEYS_TABLES } from '../database/schema.ts';
import {
  ConfigurationError,
  loadEnvironmentFile,
  readEnvironment,
} from '../environment/environment.ts';
import type { Verb } from './arguments.ts';
import { VERBS } from './verbs.ts';

async function main([name, ...rest]: readonly string[]): Promise<void> {
  if (name === undefined) throw new ConfigurationError(overview());
  if (name === '--help' || name === '-h' || name === 'help') {
    process.stdout.write(overview());
    return;
  }
  const verb = Object.hasOwn(VERBS, name) ? VERBS[name] : undefined;
  if (verb === undefined) {
    throw new ConfigurationError(`There is no verb ${JSON.stringify(name)}.\n${overview()}`);
  }
  const { values, positionals } = parse(verb, rest);
  if (values.help) {
    process.stdout.write(`npm run keys -- ${verb.usage}\n\n${verb.help}\n`);
    return;
  }
  checkPositionals(verb, positionals);
  loadEnvironmentFile();
  const environment = readEnvironment([
    'DATABASE_URL',
    'DEFAULT_RATE_LIMIT',
    'PUBLIC_URL',
    'SMTP_URL',
    'MAIL_FROM',
    'MAIL_FOLDER',
  ]);
  const run = verb.prepare({
    options: values,
    positionals,
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
    await checkSchema(database, KEYS_TABLES);
    await run(database);
  } finally {
    await database.close();
  }
}

function parse(verb: Verb, args: string[]) {
  try {
    return parseArgs({
      args,
      options: { ...verb.options, help: { type: 'boolean', short: 'h' } },
      allowPositionals: true,
    }) as { values: Record<string, string | boolean | undefined>; positionals: string[] };
  } catch (cause) {
    throw new ConfigurationError(`${(cause as Error).message}\nUsage: ${verb.usage}`, { cause });
  }
}

function checkPositionals(verb: Verb, positionals: readonly string[]): void {
  const missing = verb.positionals[positionals.length];
  const extra = positionals[verb.positionals.length];
  if (missing !== undefined) {
    throw new ConfigurationError(`${missing} is missing.\nUsage: ${verb.usage}`);
  }
  if (extra !== undefined) {
    throw new ConfigurationError(
      `There is an argument too many: ${JSON.stringify(extra)}.\nUsage: ${verb.usage}`,
    );
  }
}

function overview(): string {
  const verbs = Object.values(VERBS).map(({ usage, help }) => `  ${usage}\n      ${help}\n`);
  return `npm run keys -- VERB …: API keys in the database of DATABASE_URL.\n\n${verbs.join('')}`;
}

main(process.argv.slice(2)).catch((error: Error) => {
  process.stderr.write(`${error.message.trimEnd()}\n`);
  process.exitCode = error instanceof ConfigurationError ? 2 : 1;
});
