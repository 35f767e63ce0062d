/**
 * `cover-catalogue account`: the account pages on ACCOUNT_HOST:ACCOUNT_PORT, and the e-mails of their outbox,
 * until SIGTERM or SIGINT. It shares the database with the generator and nothing with the proxy.
 */
import '../../program/environment/node-version.ts';
import '../../program/stop.ts';
import type { AddressInfo } from 'node:net';
import { MOST_CONNECTIONS } from '../../database/database.ts';
import { openDatabase } from '../../database/open.ts';
import { checkTables } from '../../database/tables.ts';
import { readArguments } from '../../program/arguments.ts';
import { closeServer } from '../../program/close-server.ts';
import {
  type Descriptors,
  makeConnectionLimit,
  SHORT_LIVED,
  type Shares,
  shareOutConnections,
} from '../../program/connection-limit.ts';
import { newConnectionCells } from '../../program/connections.ts';
import { loadEnvironmentFile, readEnvironment } from '../../program/environment/environment.ts';
import { reportFailure } from '../../program/failure.ts';
import { checkWritableFolder } from '../../program/folders.ts';
import { listenAll } from '../../program/listen.ts';
import { makeLog } from '../../program/log.ts';
import { stopWith } from '../../program/stop.ts';
import { parseSender } from '../mail/mailer.ts';
import { ACCOUNTS_TABLE, createKeysTables, KEYS_TABLES } from '../tables/schema.ts';
import { makeApplication } from './application.ts';
import { makeAssertionCheck } from './assertion.ts';
import { makeCookies } from './cookies.ts';
import { startMailThread } from './mail/start-mail-worker.ts';
import { makeAccountServer } from './server.ts';

const USAGE = `cover-catalogue account

Serves the account pages on ACCOUNT_HOST:ACCOUNT_PORT and sends the e-mails of the
outbox, until SIGTERM or SIGINT.

Exit codes: 0 stopped, 1 failed, 2 wrong usage or configuration.
`;
/** Requests still under way after this are cut. */
const STOP_DEADLINE_MS = 10_000;

/** Both threads may open as many connections to their database as a pool has, and one more for mail. */
const TO_DATABASE_AND_MAIL = 2 * MOST_CONNECTIONS + 1;

function shareOut({ limit, inUse }: Descriptors): Shares {
  return shareOutConnections(limit - inUse - TO_DATABASE_AND_MAIL - SHORT_LIVED);
}

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
  await checkTables(database, { ...ACCOUNTS_TABLE, api_keys: KEYS_TABLES.api_keys });

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
  const answer = makeApplication({
    database,
    publicUrl,
    siteUrl: environment.SITE_URL,
    defaultLimit: environment.DEFAULT_RATE_LIMIT,
    cookies: makeCookies(publicUrl.startsWith('https:')),
    checkAssertion,
    requestLink: mails.requestLink,
    now: () => new Date(),
  });
  const cells = newConnectionCells();
  makeConnectionLimit([cells], shareOut, log).start();
  const server = makeAccountServer(answer, log, cells);
  let isStopping = false;
  // A kept-alive connection would hold the end up: the next response on it says that it is the last.
  server.prependListener('request', (_request, response) => {
    if (isStopping) response.shouldKeepAlive = false;
  });
  stopWith(async (signal) => {
    isStopping = true;
    log.info({ signal }, 'stopping');
    await closeServer(server, STOP_DEADLINE_MS);
    if (!(await mails.stop(STOP_DEADLINE_MS))) log.warn('an e-mail under way is sent again later');
    await database.close();
    log.info('stopped');
  });
  const { ACCOUNT_HOST: host, ACCOUNT_PORT: accountPort } = environment;
  await listenAll([
    { server, host, port: accountPort, variables: ['ACCOUNT_HOST', 'ACCOUNT_PORT'] },
  ]);
  if (isStopping) return;
  const { address, port } = server.address() as AddressInfo;
  log.info({ account: `${address}:${port}` }, 'listening');
}

main().catch((error: Error) => {
  process.exit(reportFailure(error, 'The account pages cannot start: '));
});
