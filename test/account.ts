/**
 * Runs the pages of API keys as the site does, and visits them as browsers do without scripts: a
 * visitor keeps cookies and sends the forms that the pages hold.
 */
import type { ChildProcess } from 'node:child_process';
import { openDatabase } from '../database/open.ts';
import { createTables } from '../database/schema.ts';
import { createKeysTables } from '../database/schema.ts';
import { end, startProgram } from './product.ts';

/** Rows of `accounts`. */
export const ACCOUNTS = {
  owner: { id: 7, email: 'owner@covers.example', name: 'Ola Owner', role: 'user' },
  other: { id: 8, email: 'other@covers.example', name: 'Otto Other', role: 'user' },
  moderator: { id: 9, email: 'mod@covers.example', name: 'Mo Moderator', role: 'moderator' },
} as const;

/** Makes every table and the accounts above. */
export async function makeAccounts(databaseUrl: string): Promise<void> {
  const database = await openDatabase(databaseUrl);
  await createTables(database);
  await createKeysTables(database);
  for (const { id, email, name, role } of Object.values(ACCOUNTS)) {
    await database.run('INSERT INTO accounts (id, email, name, role) VALUES (?, ?, ?, ?)', [
      ...[id, email, name, role],
    ]);
  }
  await database.close();
}

export interface RunningPages {
  readonly child: ChildProcess;
  /** Without a slash at the end. */
  readonly url: string;
  /** Everything that it logged so far. */
  log(): string;
  /** SIGTERM, and its exit code. */
  stop(): Promise<number | null>;
}

/** Starts `keys/web/main.ts` on a free port and waits until it listens. */
export async function startPages(
  databaseUrl: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<RunningPages> {
  const child = startProgram('keys/web/main.ts', [], {
    DATABASE_URL: databaseUrl,
    KEYS_PORT: '0',
    ...environment,
  });
  let log = '';
  child.stdout?.resume();
  const address = await new Promise<string>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`The pages ended with ${code}:\n${log}`)));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      log += text;
      const line = log.split('\n').find((candidate) => candidate.includes('"msg":"listening"'));
      if (line !== undefined) resolve(JSON.parse(line).account);
    });
  });
  return { child, url: `http://${address}`, log: () => log, stop: () => end(child, 'SIGTERM') };
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export interface Visitor {
  readonly cookies: Map<string, string>;
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
  /** Sends a form with the token of the page last seen, unless `fields` has another. */
  post(
    path: string,
    fields?: Record<string, string>,
    headers?: Record<string, string>,
  ): Promise<Answer>;
}

/** Somebody new, without cookies. */
export function makeVisitor(url: string): Visitor {
  const cookies = new Map<string, string>();
  let token = '';
  async function ask(path: string, init: RequestInit): Promise<Answer> {
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
    token = /name="token" value="([^"]*)"/.exec(text)?.[1] ?? token;
    return { status: response.status, headers: response.headers, text };
  }
  return {
    cookies,
    get: (path, headers = {}) => ask(path, { headers }),
    post: (path, fields = {}, headers = {}) =>
      ask(path, { method: 'POST', headers, body: new URLSearchParams({ token, ...fields }) }),
  };
}
