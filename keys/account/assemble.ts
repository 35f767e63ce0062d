/**
 * Creates the parts of the account pages from their environment and connects them: the server of the pages,
 * what creates sign-in links and sends e-mails, and the admin address. Nothing listens yet.
 */
import type { Server } from 'node:http';
import type { BlockList } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Database } from '../../lib/database/database.ts';
import { openDatabase } from '../../lib/database/open.ts';
import { checkTables } from '../../lib/database/tables.ts';
import type { ProgramAdmin } from '../../lib/program/admin/program-admin.ts';
import { mostConnections, newConnectionCells } from '../../lib/program/connections.ts';
import type { Environment } from '../../lib/program/environment/environment.ts';
import { closeServer, listen as listenOn } from '../../lib/program/listen.ts';
import { mailSignature } from '../mail/mail-texts.ts';
import { MAIL_CHECKS } from '../mail/mailer.ts';
import { ACCOUNTS_TABLE, createKeysTables, KEYS_TABLES } from '../tables/schema.ts';
import { addServerMetrics, addSignInMetrics, makeAccountAdmin } from './account-metrics.ts';
import { makeApp } from './app.ts';
import { type MailWorker, startMailWorker } from './mail-worker/start-mail-worker.ts';
import { makeAccountServer } from './server.ts';
import { makeAssertionCheck, makeRefusalLog } from './visitors/assertion.ts';
import { readSiteKeys, SITE_KEY_CHECKS } from './visitors/site-keys.ts';
import { makeSessionCookie } from './visitors/visitors.ts';

export const ACCOUNT_VARIABLES = [
  'DATABASE_URL',
  'ACCOUNT_HOST',
  'ACCOUNT_PORT',
  'ADMIN_HOST',
  'ADMIN_PORT',
  'PUBLIC_URL',
  'SITE_URL',
  'SITE_JWT_SECRET',
  'SITE_JWKS',
  'SIGN_IN_URL',
  'SIGN_IN_NOTE',
  'SITE_NAME',
  'SITE_CONTACT',
  'TRUSTED_PROXIES',
  'SMTP_URL',
  'MAIL_FROM',
  'MAIL_FOLDER',
  'DEFAULT_RATE_LIMIT',
  // Only whether there is one.
  'EXPLORER_KEY',
  'LOG_LEVEL',
] as const;

export const CHECKS = { ...MAIL_CHECKS, ...SITE_KEY_CHECKS };

type AccountEnvironment = Environment<(typeof ACCOUNT_VARIABLES)[number]>;

/** How long a scrape of the metrics waits for the database. */
const LONGEST_SCRAPE_MS = 2_000;
/** How long to wait before the API is asked again whether it accepts a new key. */
const API_PAUSE_MS = 100;

interface AccountParts {
  readonly server: Server;
  readonly admin: ProgramAdmin;
  readonly mails: MailWorker;
  readonly database: Database;
  readonly log: Logger;
}

/** What tests replace. */
export interface AccountOverrides {
  readonly openDatabase?: (url: string) => Promise<Database>;
  readonly startMails?: typeof startMailWorker;
  readonly longestScrapeMs?: number;
  readonly pauseForApi?: () => Promise<unknown>;
}

export async function assembleAccount(
  environment: AccountEnvironment,
  log: Logger,
  overrides: AccountOverrides = {},
): Promise<AccountParts> {
  const { DATABASE_URL: databaseUrl, PUBLIC_URL: publicUrl } = environment;
  const { SITE_JWT_SECRET: secret, SITE_JWKS: jwks } = environment;
  const siteKeys = secret === '' ? readSiteKeys(jwks) : { secret };
  const checkAssertion = siteKeys && makeAssertionCheck(siteKeys, log);
  const database = await (overrides.openDatabase ?? openDatabase)(databaseUrl);
  await createKeysTables(database);
  await checkTables(database, { ...ACCOUNTS_TABLE, api_keys: KEYS_TABLES.api_keys });

  const mail = {
    smtpUrl: environment.SMTP_URL,
    folder: environment.MAIL_FOLDER,
    from: environment.MAIL_FROM,
    signature: mailSignature(environment),
  };
  const mails = await (overrides.startMails ?? startMailWorker)(
    { databaseUrl, mail, publicUrl, logLevel: environment.LOG_LEVEL },
    (error) => {
      log.fatal({ err: error }, 'the mail worker failed');
      process.exit(1);
    },
  );
  const longestWaitMs = overrides.longestScrapeMs ?? LONGEST_SCRAPE_MS;
  const admin = makeAccountAdmin(environment, database, mails.counts, longestWaitMs);
  const site = {
    database,
    publicUrl,
    siteProfile: {
      name: environment.SITE_NAME,
      contact: environment.SITE_CONTACT,
      url: environment.SITE_URL,
    },
    signInUrl: environment.SIGN_IN_URL,
    signInNote: environment.SIGN_IN_NOTE,
    defaultLimit: environment.DEFAULT_RATE_LIMIT,
    hasExplorer: environment.EXPLORER_KEY !== '',
    sessionCookie: makeSessionCookie(publicUrl.startsWith('https:')),
    checkAssertion,
    noteRefused: makeRefusalLog(log),
    requestLink: mails.requestLink,
    trustedProxies: trustLoopback(environment.TRUSTED_PROXIES),
    countSignIn: addSignInMetrics(admin.registry),
    pauseForApi: overrides.pauseForApi ?? (() => pause(API_PAUSE_MS)),
  };
  const cells = newConnectionCells(mostConnections());
  const server = makeAccountServer(makeApp(site, log), cells, log);
  addServerMetrics(admin.registry, server, cells);
  return { server, admin, mails, database, log };
}

/** @returns the addresses on which the pages listen, for the log */
export async function listenForVisitors(
  { server, admin }: AccountParts,
  { ACCOUNT_HOST: host, ACCOUNT_PORT: port }: AccountEnvironment,
): Promise<{ readonly account: string; readonly admin: string }> {
  const variables = ['ACCOUNT_HOST', 'ACCOUNT_PORT'] as const;
  return {
    admin: await admin.listen(),
    account: await listenOn({ server, host, port, variables }),
  };
}

/**
 * Lets requests and e-mails that are under way end.
 * @param deadlineMs after this time, they are cut off
 */
export async function stop(
  { server, admin, mails, database, log }: AccountParts,
  deadlineMs: number,
): Promise<void> {
  // While the server closes, each response tells its client that the connection ends too.
  server.prependListener('request', (_request, response) => {
    response.shouldKeepAlive = false;
  });
  await closeServer(server, deadlineMs);
  if (!(await mails.stop(deadlineMs))) {
    log.warn('the mail worker was cut off; an e-mail that it was sending may be sent again later');
  }
  await database.close();
  admin.close();
}

/** Trusts this machine as well: its nginx or proxy, in front of these pages, names the client. */
function trustLoopback(proxies: BlockList): BlockList {
  proxies.addSubnet('127.0.0.0', 8);
  proxies.addAddress('::1', 'ipv6');
  return proxies;
}
