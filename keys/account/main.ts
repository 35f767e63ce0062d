/**
 * `cover-catalogue account`: the account pages on ACCOUNT_HOST:ACCOUNT_PORT, and the e-mails of their outbox,
 * until SIGTERM or SIGINT. It shares the database with the generator and nothing with the proxy.
 */
import '../../program/environment/node-version.ts';
import type { AddressInfo } from 'node:net';
import { openDatabase } from '../../database/open.ts';
import { checkSchema, createKeysTables } from '../../database/schema.ts';
import { readArguments } from '../../program/arguments.ts';
import {
  ConfigurationError,
  loadEnvironmentFile,
  readEnvironment,
} from '../../program/environment/environment.ts';
import { checkWritableFolder } from '../../program/folders.ts';
import { listenAll } from '../../program/listen.ts';
import { makeLog } from '../../program/log.ts';
import { parseSender } from '../mail/mailer.ts';
import { makeApp } from './app.ts';
import { startMailThread } from './mail/start-mail-worker.ts';
import { makeAccountServer } from './server.ts';
import { makeAssertionCheck } from './visitors/assertion.ts';
import { makeCookies } from './visitors/cookies.ts';

const USAGE = `cover-catalogue account

Serves the account pages on ACCOUNT_HOST:ACCOUNT_PORT and sends the e-mails of the
outbox, until SIGTERM or SIGINT.

Exit codes: 0 stopped, 1 failed, 2 wrong usage or configuration.
`;
/** Requests still under way after this are cut. */
const STOP_DEADLINE_MS = 10_000;

async function main(): Promise<void> {
  readArguments(USAGE, {});
  loadEnvironmentFile();
  const environment = readEnvironment(
    [
      'DATABASE_URL',
      'ACCOUNT_HOST',
      'ACCOUNT_PORT',
      'PUBLIC_URL',
      'SITE_URL',
      'SITE_JWT_SECRET',
      'SITE_JWKS',
      'SMTP_URL',
      'MAIL_FROM',
      'MAIL_FOLDER',
      'DEFAULT_RATE_LIMIT',
      'LOG_LEVEL',
    ],
    process.env,
    {
      MAIL_FROM: parseSender,
      MAIL_FOLDER(folder, { SMTP_URL }) {
        if (SMTP_URL === '') checkWritableFolder(folder);
      },
    },
  );
  const log = makeLog(environment.LOG_LEVEL);
  const { SITE_JWT_SECRET: secret, SITE_JWKS: jwks, PUBLIC_URL: publicUrl } = environment;
  const siteKeys = secret === '' ? jwks : { secret };
  const checkAssertion = siteKeys && makeAssertionCheck(siteKeys, log);
  const database = await openDatabase(environment.DATABASE_URL);
  await createKeysTables(database);
  await checkSchema(database, ['accounts', 'api_keys']);

  const mails = await startMailThread(
    {
      databaseUrl: environment.DATABASE_URL,
      mail: {
        smtpUrl: environment.SMTP_URL,
        folder: environment.MAIL_FOLDER,
        from: environment.MAIL_FROM,
      },
      publicUrl,
      logLevel: environment.LOG_LEVEL,
    },
    (error) => {
      log.fatal({ err: error }, 'the thread of e-mails failed');
      process.exit(1);
    },
  );
  const site = {
    database,
    publicUrl,
    siteUrl: environment.SITE_URL,
    defaultLimit: environment.DEFAULT_RATE_LIMIT,
    cookies: makeCookies(publicUrl.startsWith('https:')),
    checkAssertion,
    requestLink: mails.requestLink,
  };
  const server = makeAccountServer(makeApp(site, log));
  const { ACCOUNT_HOST: host, ACCOUNT_PORT: accountPort } = environment;
  await listenAll([
    { server, host, port: accountPort, variables: ['ACCOUNT_HOST', 'ACCOUNT_PORT'] },
  ]);
  const { address, port } = server.address() as AddressInfo;

  let isStopping = false;
  // A kept-alive connection would hold the end up: the next response on it says that it is the last.
  server.prependListener('request', (_request, response) => {
    if (isStopping) response.shouldKeepAlive = false;
  });
  const stop = async (signal: string) => {
    if (isStopping) return;
    isStopping = true;
    log.info({ signal }, 'stopping');
    const cut = setTimeout(() => server.closeAllConnections(), STOP_DEADLINE_MS);
    const closed = new Promise((resolve) => server.close(resolve));
    const idle = setInterval(() => server.closeIdleConnections(), 100);
    await closed;
    clearInterval(idle);
    clearTimeout(cut);
    if (!(await mails.stop(STOP_DEADLINE_MS))) log.warn('an e-mail under way is sent again later');
    await database.close();
    log.info('stopped');
    process.exit(0);
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  log.info({ account: `${address}:${port}` }, 'listening');
}

main().catch((error: Error) => {
  if (error instanceof ConfigurationError) {
    process.stderr.write(`${error.message}\n`);
    process.exit(2);
  }
  process.stderr.write(`The account pages cannot start: ${error.message}\n`);
  process.exit(1);
});
