/**
 * `npm run demo`: the whole product on a sample catalogue. It creates an SQLite database in a
 * temporary folder, issues a key and starts the schedule, the proxy and the account pages like an
 * operator. On SIGTERM or Ctrl-C it ends the programs and removes the folder.
 */
import '../program/environment/node-version.ts';
import path from 'node:path';
import { openDatabase } from '../database/open.ts';
import { PATHS } from '../keys/paths.ts';
import { addLink } from '../keys/tables/sign-in-links.ts';
import { readArguments } from '../program/arguments.ts';
import { readEnvironment } from '../program/environment/environment.ts';
import { issueKey, makeCatalogue, manageKeys } from './catalogue.ts';
import { serveImages } from './covers.ts';
import {
  freePort,
  makeDemoFolder,
  report,
  runDemo,
  startCommand,
  waitUntilReady,
} from './programs.ts';

const USAGE = `npm run demo

Runs the whole product on a sample catalogue until Ctrl-C. HOST, PORT,
ADMIN_PORT and ACCOUNT_PORT set the addresses on which it listens.
`;
/** For the admin addresses that the demo does not use. */
const ANY_PORT = { ADMIN_PORT: '0' };
const KEY_LIMIT = 6000;
const USER = { email: 'demo@example.org', name: 'Demo user', role: 'user' };
const MODERATOR = { email: 'moderator@example.org', name: 'Demo moderator', role: 'moderator' };

async function main(): Promise<void> {
  readArguments(USAGE, {});
  const {
    HOST: host,
    PORT: port,
    ADMIN_PORT: adminPort,
  } = readEnvironment(['HOST', 'PORT', 'ADMIN_PORT']);
  const folder = makeDemoFolder();
  const api = `http://${host}:${port}`;
  // Browsers reach the account pages through the proxy, so any port will do.
  const accountPort = process.env.ACCOUNT_PORT ?? (await freePort());
  const databaseUrl = `sqlite:${path.join(folder, 'catalogue.db')}`;
  report('Creating the sample catalogue …');
  const images = await makeCatalogue(databaseUrl);
  const imagesPort = await serveImages(images, host);
  const environment = {
    ...process.env,
    DATABASE_URL: databaseUrl,
    SNAPSHOTS_DIR: path.join(folder, 'snapshots'),
    SITE_URL: 'https://covers.example',
    FILES_URL: `http://${host}:${imagesPort}`,
    PUBLIC_URL: api,
    ACCOUNT_HOST: '127.0.0.1',
    ACCOUNT_PORT: String(accountPort),
    ACCOUNT_URL: `http://127.0.0.1:${accountPort}`,
    MAIL_FOLDER: path.join(folder, 'mail'),
    // The demo does not use a mail server or a site's keys from the environment.
    SMTP_URL: '',
    SITE_JWT_SECRET: '',
    SITE_JWKS: '',
    LOG_LEVEL: process.env.LOG_LEVEL ?? 'warn',
  };
  const key = await issueKey(environment, KEY_LIMIT);
  const explorerKey = await issueKey(environment, KEY_LIMIT, 'explorer');
  report('Generating a snapshot and starting the proxy …');
  startCommand('the proxy', 'proxy', { ...environment, EXPLORER_KEY: explorerKey });
  // Its warnings would be that only this machine can reach these addresses, which is so on purpose.
  const { LOG_LEVEL: level = 'error' } = process.env;
  startCommand('the schedule', 'schedule', { ...environment, ...ANY_PORT, LOG_LEVEL: level });
  startCommand('the account pages', 'account', { ...environment, ...ANY_PORT });
  await waitUntilReady(`http://127.0.0.1:${adminPort}/readyz`);
  await waitUntilReady(`${environment.ACCOUNT_URL}/account/sign-in`);
  const asUser = await addAccount(environment, USER);
  const asModerator = await addAccount(environment, MODERATOR);
  printAddresses({ api, key, environment, asUser, asModerator });
}

interface Shown {
  readonly api: string;
  readonly key: string;
  readonly environment: { readonly SNAPSHOTS_DIR: string; readonly MAIL_FOLDER: string };
  /** The sign-in links. */
  readonly asUser: string;
  readonly asModerator: string;
}

function printAddresses({ api, key, environment, asUser, asModerator }: Shown): void {
  process.stdout.write(`
Explore the covers:  ${api}/explore
The API is at ${api}/api/v1, its reference at ${api}/docs
The snapshot's files are in ${environment.SNAPSHOTS_DIR}

API key: ${key}
curl -H 'Authorization: Bearer ${key}' ${api}/api/v1/games/snes/chrono-trigger

The examples on the pages read the key from a variable:
export COVERS_KEY=${key}

To try the account pages in a browser, sign in (each link works once, within 15 minutes):
  as a user, to request a key and reveal it:  ${asUser}
  as a moderator, to approve or reject it:    ${asModerator}
Use two browsers, or a private window for one of them. To sign in again, request a link at
${api}/account/sign-in with ${USER.email} or ${MODERATOR.email}.
E-mails are files in ${environment.MAIL_FOLDER}

Press Ctrl-C to stop everything.
`);
}

/** Adds an account. @returns a link that signs in to it, as an e-mail would have it */
async function addAccount(
  environment: { readonly DATABASE_URL: string; readonly PUBLIC_URL: string },
  { email, name, role }: typeof USER,
): Promise<string> {
  const add = ['account', 'add', email, '--name', name, '--role', role];
  const id = await manageKeys(add, environment);
  const database = await openDatabase(environment.DATABASE_URL);
  try {
    const { token } = await addLink(database, Number(id), new Date());
    return `${environment.PUBLIC_URL}${PATHS.link}?token=${token}`;
  } finally {
    await database.close();
  }
}

runDemo(main);
