/**
 * Starts the account pages and visits them like a browser without scripts: a visitor keeps cookies
 * and submits the forms of the pages. A page with broken markup fails any test that visits it.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Writer } from '../../database/database.ts';
import { openDatabase } from '../../database/open.ts';
import { createTables } from '../../database/tables.ts';
import { ACCOUNTS_TABLE, createKeysTables } from '../../keys/tables/schema.ts';
import { faultOfMarkup } from './markup.ts';
import {
  end,
  makeFolder,
  type RunningProxy,
  type RunningServer,
  startProgram,
  startProxy,
  startServing,
  until,
} from './product.ts';
import { readMail } from './servers/mail-server.ts';
import { freePort } from './servers/ports.ts';

/** Rows of `accounts`. */
export const PEOPLE = {
  owner: { id: 7, email: 'owner@covers.example', name: 'Ola Owner', role: 'user' },
  other: { id: 8, email: 'other@covers.example', name: 'Otto Other', role: 'user' },
  moderator: { id: 9, email: 'mod@covers.example', name: 'Mo Moderator', role: 'moderator' },
} as const;

/** Creates the tables and the accounts above. */
export async function makeAccounts(databaseUrl: string): Promise<void> {
  const database = await openDatabase(databaseUrl);
  await createTables(database, ACCOUNTS_TABLE);
  await createKeysTables(database);
  for (const { id, email, name, role } of Object.values(PEOPLE)) {
    await database.run('INSERT INTO accounts (id, email, name, role) VALUES (?, ?, ?, ?)', [
      id,
      email,
      name,
      role,
    ]);
  }
  await database.close();
}

export interface RunningPages extends RunningServer {
  /** Without a slash at the end. */
  readonly url: string;
}

/** Starts `keys/account/main.ts` on a free port. */
export async function startPages(
  databaseUrl: string,
  environment: Readonly<Record<string, string>> = {},
  wrapper: readonly string[] = [],
): Promise<RunningPages> {
  const own = { DATABASE_URL: databaseUrl, ACCOUNT_PORT: '0', ...environment };
  const server = await startServing('keys/account/main.ts', own, wrapper);
  return { ...server, url: `http://${server.listening.account}` };
}

export interface RunningSite {
  readonly snapshotsDir: string;
  /** Browsers reach the pages through it. */
  readonly proxy: RunningProxy;
  readonly pages: RunningPages;
  stop(): Promise<void>;
}

/**
 * Starts what a site with accounts runs: the schedule, a proxy, and the account pages behind it.
 * @param variables of the account pages
 */
export async function startSite(
  databaseUrl: string,
  variables: Readonly<Record<string, string>>,
): Promise<RunningSite> {
  const snapshotsDir = path.join(makeFolder(), 'snapshots');
  const environment = { DATABASE_URL: databaseUrl, SNAPSHOTS_DIR: snapshotsDir };
  const schedule = startProgram('generator/cli/schedule.ts', [], environment);
  schedule.stdout?.resume();
  schedule.stderr?.resume();
  const port = String(await freePort());
  const proxy = await startProxy(snapshotsDir, {
    ACCOUNT_URL: `http://127.0.0.1:${port}`,
    // The tests poll with keys that do not work yet, or no longer.
    ADDRESS_RATE_LIMIT: '100000',
  });
  const pages = await startPages(databaseUrl, {
    ACCOUNT_PORT: port,
    PUBLIC_URL: proxy.url,
    ...variables,
  });
  await until(async () => (await proxy.readyz()).status === 200);
  return {
    snapshotsDir,
    proxy,
    pages,
    async stop() {
      await pages.stop();
      await proxy.stop();
      await end(schedule, 'SIGTERM');
    },
  };
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export interface Visitor {
  readonly cookies: Map<string, string>;
  /** The text of every response so far. */
  readonly answers: readonly string[];
  /** The form token of the last page. */
  token(): string;
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
  /** Submits a form with the token of the last page, unless `fields` has another. */
  post(
    path: string,
    fields?: Record<string, string>,
    headers?: Record<string, string>,
  ): Promise<Answer>;
}

/** A new visitor without cookies. */
export function makeVisitor(url: string): Visitor {
  const cookies = new Map<string, string>();
  const answers: string[] = [];
  let token = '';
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
    answers.push(text);
    const isPage = response.headers.get('content-type')?.startsWith('text/html');
    const fault = isPage ? faultOfMarkup(text) : undefined;
    if (fault !== undefined) throw new Error(`The page ${path} is broken: ${fault}.\n${text}`);
    token = /name="token" value="([^"]*)"/.exec(text)?.[1] ?? token;
    return { status: response.status, headers: response.headers, text };
  }
  return {
    cookies,
    answers,
    token: () => token,
    get: (path, headers = {}) => request(path, { headers }),
    post: (path, fields = {}, headers = {}) =>
      request(path, { method: 'POST', headers, body: new URLSearchParams({ token, ...fields }) }),
  };
}

/** The decoded texts of the e-mails in a folder, oldest first. */
export function mailsIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith('.eml'))
    .map((name) => path.join(folder, name))
    .toSorted(
      (a, b) => Number.parseInt(path.basename(a), 10) - Number.parseInt(path.basename(b), 10),
    )
    .map((file) => readMail(readFileSync(file, 'utf8')));
}

/** Makes the e-mails about each key due that wait because another was sent within a minute. */
export async function passMailPause(database: Writer): Promise<void> {
  await database.run(
    "UPDATE mail_outbox SET sent_at = '2026-03-04 00:00:00' WHERE sent_at > '2026-03-04 00:00:00'",
  );
}

/** Signs a visitor in with an e-mailed link, through the forms. */
export async function signIn(visitor: Visitor, email: string, mailFolder: string): Promise<void> {
  const before = linksTo(email, mailFolder).length;
  await visitor.get('/account/sign-in');
  await visitor.post('/account/sign-in', { email });
  await until(() => linksTo(email, mailFolder).length > before);
  const link = linksTo(email, mailFolder).at(-1) as string;
  await visitor.get(link);
  const reply = await visitor.post('/account/sign-in/link', { link: tokenOf(link) });
  if (reply.status !== 303) throw new Error(`Signing in was answered with ${reply.status}.`);
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
