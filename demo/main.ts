/**
 * `npm run demo`: the whole product on a sample catalogue. It creates an SQLite database in a
 * temporary folder, issues a key and starts the schedule, the proxy and the account pages like an
 * operator. On SIGTERM or Ctrl-C it ends the programs and removes the folder.
 */
import '../program/environment/node-version.ts';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openDatabase } from '../database/open.ts';
import { createSignInLink } from '../keys/lifecycle/sign-in.ts';
import { createKeysTables } from '../keys/tables/schema.ts';
import { readArguments } from '../program/arguments.ts';
import { ConfigurationError, readEnvironment } from '../program/environment/environment.ts';
import { loadCatalogue } from '../test/catalogue/load.ts';
import { sampleCatalogue } from '../test/catalogue/sample.ts';

const USAGE = `npm run demo

Runs the whole product on a sample catalogue until Ctrl-C. HOST, PORT and
ADMIN_PORT set the addresses on which it listens.
`;
const EXECUTABLE = path.join(import.meta.dirname, '../bin/cover-catalogue');
const KEY_LIMIT = '6000';
const READY_DEADLINE_MS = 45_000;
const STOP_DEADLINE_MS = 12_000;
/** Accounts of the sample catalogue. */
const USER = 'demo@example.org';
const MODERATOR = 'moderator@example.org';

const children = new Map<ChildProcess, string>();
let isStopping = false;

async function main(): Promise<void> {
  readArguments(USAGE, {});
  const {
    HOST: host,
    PORT: port,
    ADMIN_PORT: adminPort,
  } = readEnvironment(['HOST', 'PORT', 'ADMIN_PORT']);
  const folder = mkdtempSync(path.join(tmpdir(), 'cover-catalogue-demo-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => stop(0));

  const api = `http://${host}:${port}`;
  const accountPort = await freePort();
  const environment = {
    ...process.env,
    DATABASE_URL: `sqlite:${path.join(folder, 'catalogue.db')}`,
    SNAPSHOTS_DIR: path.join(folder, 'snapshots'),
    SITE_URL: 'https://covers.example',
    FILES_URL: 'https://covers.example/files',
    PUBLIC_URL: api,
    ACCOUNT_HOST: '127.0.0.1',
    ACCOUNT_PORT: String(accountPort),
    ACCOUNT_URL: `http://127.0.0.1:${accountPort}`,
    MAIL_FOLDER: path.join(folder, 'mail'),
    // The demo does not use a mail server or a site's keys from the environment.
    SMTP_URL: '',
    SITE_JWT_SECRET: '',
    SITE_JWKS: '',
    SITE_JWT_KEY: '',
    LOG_LEVEL: process.env.LOG_LEVEL ?? 'warn',
  };
  report('Creating the sample catalogue …');
  await makeCatalogue(environment.DATABASE_URL);
  const key = await issueKey(environment);
  report('Generating a snapshot and starting the proxy …');
  start('the proxy', 'proxy', environment);
  // With its real PUBLIC_URL, the schedule would warn that only this machine can reach it.
  start('the schedule', 'schedule', { ...environment, PUBLIC_URL: environment.SITE_URL });
  start('the account pages', 'account', environment);
  await waitUntilReady(`http://127.0.0.1:${adminPort}/readyz`);
  await waitUntilReady(`${environment.ACCOUNT_URL}/account/sign-in`);
  const [asUser, asModerator] = await makeLinks(environment.DATABASE_URL, api);
  process.stdout.write(`
The API is at ${api}/api/v1, its reference at ${api}/docs
The snapshot's files are in ${environment.SNAPSHOTS_DIR}

API key: ${key}
curl -H 'X-Api-Key: ${key}' ${api}/api/v1/games/snes/chrono-trigger

To try the account pages in a browser, sign in (each link works once, within 15 minutes):
  as a user, to request a key and reveal it:  ${asUser}
  as a moderator, to approve or reject it:    ${asModerator}
Use two browsers, or a private window for one of them. To sign in again, request a link at
${api}/account/sign-in with ${USER} or ${MODERATOR}.
E-mails are files in ${environment.MAIL_FOLDER}

Press Ctrl-C to stop everything.
`);
}

async function makeCatalogue(url: string): Promise<void> {
  const database = await openDatabase(url, { create: true });
  try {
    await loadCatalogue(database, sampleCatalogue());
    await createKeysTables(database);
  } finally {
    await database.close();
  }
}

/** Creates a sign-in link for the user and one for the moderator. */
async function makeLinks(url: string, api: string): Promise<string[]> {
  const database = await openDatabase(url);
  try {
    const links: string[] = [];
    for (const email of [USER, MODERATOR]) {
      const token = await createSignInLink(database, email, {
        at: new Date(),
        publicUrl: api,
      });
      links.push(`${api}/account/sign-in/link?token=${token}`);
    }
    return links;
  } finally {
    await database.close();
  }
}

/** A port for the account pages. Browsers reach them through the proxy, so any port will do. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function issueKey(environment: NodeJS.ProcessEnv): Promise<string> {
  const issue = ['issue', '--limit', KEY_LIMIT, '--note', 'demo'];
  const child = run('keys', issue, environment, 'pipe');
  let printed = '';
  let messages = '';
  child.stdout?.setEncoding('utf8').on('data', (text) => {
    printed += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text) => {
    messages += text;
  });
  return new Promise((resolve, reject) => {
    child.once('close', (code) => {
      if (code === 0) resolve(printed.trim());
      else reject(new Error(`Issuing a key ended with ${code}: ${messages.trim()}`));
    });
  });
}

function start(name: string, command: string, environment: NodeJS.ProcessEnv): void {
  const child = run(command, [], environment);
  children.set(child, name);
  child.once('exit', (code, signal) => {
    children.delete(child);
    if (isStopping) return;
    report(`${name} ended with ${signal ?? code}.`);
    stop(code === 2 ? 2 : 1);
  });
}

function run(
  command: string,
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  stderr: 'inherit' | 'pipe' = 'inherit',
): ChildProcess {
  return spawn(EXECUTABLE, [command, ...args], {
    env: environment,
    stdio: ['ignore', 'pipe', stderr],
  });
}

async function waitUntilReady(address: string): Promise<void> {
  const deadline = Date.now() + READY_DEADLINE_MS;
  while (!isStopping) {
    const reply = await fetch(address).catch(() => undefined);
    if (reply?.ok) return;
    if (Date.now() > deadline) throw new Error(`${address} did not become ready.`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  // The demo is stopping, so it must not print that the API is ready.
  await new Promise(() => {});
}

async function stop(code: number): Promise<void> {
  if (isStopping) return;
  isStopping = true;
  const gone = [...children.keys()].map(
    (child) => new Promise((resolve) => child.once('exit', resolve)),
  );
  for (const child of children.keys()) child.kill('SIGTERM');
  setTimeout(() => {
    for (const child of children.keys()) child.kill('SIGKILL');
  }, STOP_DEADLINE_MS).unref();
  await Promise.all(gone);
  process.exit(code);
}

function report(text: string): void {
  process.stderr.write(`${text}\n`);
}

main().catch(async (error: Error) => {
  report(error.message);
  await stop(error instanceof ConfigurationError ? 2 : 1);
});
