/**
 * `cover-catalogue account`: serves the account pages on ACCOUNT_HOST:ACCOUNT_PORT and sends the
 * e-mails in the outbox, until SIGTERM or SIGINT. It uses the same database as the generator, and
 * shares no data with the proxy.
 */
import '../../program/environment/node-version.ts';
import '../../program/stop.ts';
import type { Server } from 'node:http';
import type { BlockList } from 'node:net';
import type { Logger } from 'pino';
import { type Database, MOST_CONNECTIONS } from '../../database/database.ts';
import { openDatabase } from '../../database/open.ts';
import { checkTables } from '../../database/tables.ts';
import type { ProgramAdmin } from '../../program/admin/program-admin.ts';
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
import { addressOf, listenAll } from '../../program/listen.ts';
import { makeLog } from '../../program/log.ts';
import { stopWith } from '../../program/stop.ts';
import { reportReady } from '../../program/systemd/report-ready.ts';
import { MAIL_CHECKS } from '../mail/mailer.ts';
import { ACCOUNTS_TABLE, createKeysTables, KEYS_TABLES } from '../tables/schema.ts';
import { addServerMetrics, addSignInMetrics, makeAccountAdmin } from './account-metrics.ts';
import { makeApp } from './app.ts';
import { type MailWorker, startMailWorker } from './mail/start-mail-worker.ts';
import { makeAccountServer } from './server.ts';
import { makeAssertionCheck } from './visitors/assertion.ts';
import { makeCookies } from './visitors/cookies.ts';
import { makeLinkLimits } from './visitors/link-limits.ts';

const USAGE = `cover-catalogue account

Serves the account pages on ACCOUNT_HOST:ACCOUNT_PORT and sends the e-mails of
the outbox, until SIGTERM or SIGINT. If ACCOUNT_ADMIN_PORT is set, it serves
health checks and metrics on ADMIN_HOST:ACCOUNT_ADMIN_PORT.

Exit codes: 0 stopped, 1 failed, 2 wrong usage or configuration.
`;
/** After this time, requests and e-mails that are still under way are cut off. */
const STOP_DEADLINE_MS = 10_000;

/** Both threads have a pool of connections to the database. One more connection is for mail. */
const TO_DATABASE_AND_MAIL = 2 * MOST_CONNECTIONS + 1;

function shareOut({ limit, inUse }: Descriptors): Shares {
  return shareOutConnections(limit - inUse - TO_DATABASE_AND_MAIL - SHORT_LIVED);
}

function readSettings() {
  loadEnvironmentFile();
  return readEnvironment(
    [
      'DATABASE_URL',
      'ACCOUNT_HOST',
      'ACCOUNT_PORT',
      'ADMIN_HOST',
      'ACCOUNT_ADMIN_PORT',
      'PUBLIC_URL',
      'SITE_URL',
      'SITE_JWT_SECRET',
      'SITE_JWKS',
      'TRUSTED_PROXIES',
      'SMTP_URL',
      'MAIL_FROM',
      'MAIL_FOLDER',
      'DEFAULT_RATE_LIMIT',
      'LOG_LEVEL',
    ],
    process.env,
    MAIL_CHECKS,
  );
}

async function main(): Promise<void> {
  readArguments(USAGE, {});
  const settings = readSettings();
  const { DATABASE_URL: databaseUrl, PUBLIC_URL: publicUrl, LOG_LEVEL: logLevel } = settings;
  const { SITE_JWT_SECRET: secret, SITE_JWKS: jwks } = settings;
  const log = makeLog(logLevel);
  const siteKeys = secret === '' ? jwks : { secret };
  const checkAssertion = siteKeys && makeAssertionCheck(siteKeys, log);
  const database = await openDatabase(databaseUrl);
  await createKeysTables(database);
  await checkTables(database, { ...ACCOUNTS_TABLE, api_keys: KEYS_TABLES.api_keys });

  const mail = {
    smtpUrl: settings.SMTP_URL,
    folder: settings.MAIL_FOLDER,
    from: settings.MAIL_FROM,
  };
  const worker = { databaseUrl, mail, publicUrl, logLevel };
  const mails = await startMailWorker(worker, (error) => {
    log.fatal({ err: error }, 'the mail worker failed');
    process.exit(1);
  });
  const admin = makeAccountAdmin(settings, database, mails.counts);
  const site = {
    database,
    publicUrl,
    siteUrl: settings.SITE_URL,
    defaultLimit: settings.DEFAULT_RATE_LIMIT,
    cookies: makeCookies(publicUrl.startsWith('https:')),
    checkAssertion,
    requestLink: mails.requestLink,
    trustedProxies: trustLoopback(settings.TRUSTED_PROXIES),
    linkLimits: makeLinkLimits(),
    countSignIn: addSignInMetrics(admin.registry),
  };
  const cells = newConnectionCells();
  const limit = makeConnectionLimit([cells], shareOut, log);
  limit.start();
  const server = makeAccountServer(makeApp(site, log), cells);
  addServerMetrics(admin.registry, server, cells, limit.connections);
  let isStopping = false;
  stopWith(async (signal) => {
    isStopping = true;
    admin.announceEnd();
    log.info({ signal }, 'stopping');
    await stop({ server, admin, mails, database, log });
    log.info('stopped');
  });
  const { ACCOUNT_HOST: host, ACCOUNT_PORT: port } = settings;
  const adminAddress = await admin.listen();
  await listenAll([{ server, host, port, variables: ['ACCOUNT_HOST', 'ACCOUNT_PORT'] }]);
  if (isStopping) return;
  log.info({ account: addressOf(server), admin: adminAddress }, 'listening');
  reportReady(log);
}

/** Trusts this machine as well: its nginx or proxy, in front of these pages, names the client. */
function trustLoopback(proxies: BlockList): BlockList {
  proxies.addSubnet('127.0.0.0', 8);
  proxies.addAddress('::1', 'ipv6');
  return proxies;
}

interface Running {
  readonly server: Server;
  readonly admin: ProgramAdmin;
  readonly mails: MailWorker;
  readonly database: Database;
  readonly log: Logger;
}

/** Lets requests and e-mails that are under way end, for a limited time. */
async function stop({ server, admin, mails, database, log }: Running): Promise<void> {
  // While the server closes, each response tells its client that the connection ends too.
  server.prependListener('request', (_request, response) => {
    response.shouldKeepAlive = false;
  });
  await closeServer(server, STOP_DEADLINE_MS);
  if (!(await mails.stop(STOP_DEADLINE_MS))) {
    log.warn('the mail worker was cut off; an e-mail that it was sending may be sent again later');
  }
  await database.close();
  admin.close();
}

main().catch((error: Error) => {
  process.exit(reportFailure(error, 'The account pages cannot start: '));
});
