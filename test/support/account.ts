/**
 * Starts the account pages and visits them like a browser without scripts: a visitor keeps cookies
 * and submits the forms of the pages. A page with broken markup fails any test that visits it.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, watch } from 'node:fs';
import path from 'node:path';
import { pino } from 'pino';
import {
  ACCOUNT_VARIABLES,
  type AccountOverrides,
  assembleAccount,
  CHECKS,
  listenForVisitors,
  stop,
} from '#keys/account/assemble.ts';
import { type MailLoops, startMailLoops } from '#keys/account/mail-worker/mail-loops.ts';
import type { MailProgress } from '#keys/account/mail-worker/start-mail-worker.ts';
import { makeMailer } from '#keys/mail/mailer.ts';
import { ACCOUNTS_TABLE, createKeysTables } from '#keys/tables/schema.ts';
import { openDatabase } from '#lib/database/open.ts';
import { createTables } from '#lib/database/tables.ts';
import { readEnvironment } from '#lib/program/environment/environment.ts';
import { makeDatabase } from './databases.ts';
import { atEndOfFile } from './end-of-file.ts';
import { makeLog } from './log.ts';
import { faultOfMarkup } from './markup.ts';
import type { Texts } from './processes.ts';
import { startServing } from './product.ts';
import { readMail } from './servers/mail-server.ts';

/** Rows of `accounts`. */
export const PEOPLE = {
  owner: { id: 7, email: 'owner@covers.example', name: 'Ola Owner', role: 'user' },
  other: { id: 8, email: 'other@covers.example', name: 'Otto Other', role: 'user' },
  moderator: { id: 9, email: 'mod@covers.example', name: 'Mo Moderator', role: 'moderator' },
} as const;

/** Creates the tables and the accounts above, in a new database or a given one. @returns its `DATABASE_URL` */
export async function makeAccounts(databaseUrl?: string): Promise<string> {
  const url = databaseUrl ?? (await makeDatabase('sqlite'));
  const database = await openDatabase(url);
  await createTables(database, ACCOUNTS_TABLE);
  await createKeysTables(database);
  for (const { id, email, name, role } of Object.values(PEOPLE)) {
    const sql = 'INSERT INTO accounts (id, email, name, role) VALUES (?, ?, ?, ?)';
    await database.run(sql, [id, email, name, role]);
  }
  await database.close();
  return url;
}

/** Starts `cli/account.ts` on a free port. */
export async function startPages(
  databaseUrl: string,
  environment: Texts = {},
  wrapper: readonly string[] = [],
) {
  const own = { DATABASE_URL: databaseUrl, ACCOUNT_PORT: '0', ...environment };
  const server = await startServing('account', own, wrapper);
  /** Without a slash at the end. */
  const url = `http://${server.listening.account}`;
  return { ...server, url };
}

export type OwnPages = Awaited<ReturnType<typeof openPages>>;

/**
 * Starts the account pages in this process. A request for a sign-in link is worked on at once.
 */
export async function openPages(
  databaseUrl: string,
  environment: Texts = {},
  overrides: AccountOverrides = {},
) {
  const settings = readEnvironment(
    ACCOUNT_VARIABLES,
    { DATABASE_URL: databaseUrl, ACCOUNT_PORT: '0', ADMIN_PORT: '0', ...environment },
    CHECKS,
  );
  const log = makeLog();
  const logger = pino({ level: settings.LOG_LEVEL }, log);
  let loops: MailLoops | undefined;
  let working = Promise.resolve();
  const sendMails = () => {
    working = working.then(() => loops?.now());
    return working;
  };
  const startMails: AccountOverrides['startMails'] = async ({ mail, publicUrl }) => {
    const counts = { links: 0, sent: 0, failed: 0 };
    const database = await (overrides.openDatabase ?? openDatabase)(databaseUrl);
    const work = {
      database,
      mailer: makeMailer(mail),
      publicUrl,
      log: logger,
      onProgress({ links, sent, failed }: MailProgress) {
        counts.links -= links;
        counts.sent += sent;
        counts.failed += failed;
      },
    };
    const own = startMailLoops(work, { work: 1e9, cleaning: 1e9 });
    loops = own;
    return {
      requestLink(email) {
        counts.links++;
        own.requestLink(email);
        void sendMails();
        return true;
      },
      counts: () => counts,
      async stop() {
        await working;
        await own.stop();
        await database.close();
        return true;
      },
    };
  };
  const parts = await assembleAccount(settings, logger, { startMails, ...overrides });
  let stopping: Promise<void> | undefined;
  const stopOnce = () => {
    stopping ??= stop(parts, 0);
    return stopping;
  };
  atEndOfFile(stopOnce);
  const { account, admin } = await listenForVisitors(parts, settings);
  return {
    /** Without a slash at the end. */
    url: `http://${account}`,
    port: Number(account.split(':').at(-1)),
    adminUrl: `http://${admin}`,
    log: log.text,
    logged: log.logged,
    /** Creates the sign-in links that were requested and sends the e-mails that are due. */
    sendMails,
    stop: stopOnce,
  };
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export type Visitor = ReturnType<typeof makeVisitor>;

/** A new visitor without cookies. @param origin of the pages, for browsers */
export function makeVisitor(url: string, origin = url) {
  const cookies = new Map<string, string>();
  async function request(path: string, init: RequestInit): Promise<Answer> {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url + path, {
      ...init,
      redirect: 'manual',
      headers: { ...(cookie === '' ? {} : { cookie }), ...init.headers },
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (/max-age=0\b/i.test(line)) cookies.delete(name);
      else cookies.set(name, value);
    }
    const text = await response.text();
    const isPage = response.headers.get('content-type')?.startsWith('text/html');
    const fault = isPage ? faultOfMarkup(text) : undefined;
    if (fault !== undefined) throw new Error(`The page ${path} is broken: ${fault}.\n${text}`);
    return { status: response.status, headers: response.headers, text };
  }
  return {
    cookies,
    get: (path: string, headers: Texts = {}) => request(path, { headers: { ...headers } }),
    /** Submits a form of these pages, unless `headers` name another origin. */
    post(path: string, fields: Texts = {}, headers: Texts = {}) {
      const body = new URLSearchParams(fields);
      return request(path, { method: 'POST', headers: { origin, ...headers }, body });
    },
  };
}

/** The decoded texts of the e-mails in a folder, oldest first. */
export function mailsIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith('.eml'))
    .toSorted((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10))
    .map((name) => readMail(readFileSync(path.join(folder, name), 'utf8')));
}

/** Signs a visitor in with an e-mailed link, through the forms. */
export async function signIn(visitor: Visitor, email: string, mailFolder: string): Promise<void> {
  const link = await requestLink(visitor, email, mailFolder);
  const reply = await visitor.post('/account/sign-in/link', { link: tokenOf(link) });
  if (reply.status !== 303) throw new Error(`Signing in was answered with ${reply.status}.`);
}

/** Requests a sign-in link for an address that has an account. @returns its path and query */
export async function requestLink(
  visitor: Visitor,
  email: string,
  mailFolder: string,
): Promise<string> {
  const before = linksTo(email, mailFolder).length;
  await visitor.post('/account/sign-in', { email });
  return mailedLink(email, mailFolder, before + 1);
}

/**
 * Waits until so many links were sent to an address.
 * @returns the path and query of the last one
 */
export async function mailedLink(email: string, mailFolder: string, count = 1): Promise<string> {
  mkdirSync(mailFolder, { recursive: true });
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const check = () => {
    try {
      const link = linksTo(email, mailFolder)[count - 1];
      if (link !== undefined) resolve(link);
    } catch (error) {
      reject(error);
    }
  };
  const watcher = watch(mailFolder, check);
  check();
  return promise.finally(() => watcher.close());
}

/** The paths and queries of the links that were sent to an address, oldest first. */
export function linksTo(email: string, mailFolder: string): string[] {
  return mailsIn(mailFolder)
    .filter((mail) => mail.includes(`To: ${email}\n`) && mail.includes('/account/sign-in/link?'))
    .map(linkOf);
}

/** The path and query of the link in an e-mail. */
export function linkOf(mail: string): string {
  const [, link] = /https?:\/\/[^/\s]+(\/account\/sign-in\/link\?token=[\w-]+)/.exec(mail) ?? [];
  if (link === undefined) throw new Error(`No link in:\n${mail}`);
  return link;
}

export function tokenOf(link: string): string {
  return new URLSearchParams(link.split('?')[1]).get('token') as string;
}
