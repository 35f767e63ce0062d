/**
 * `npm run demo`: the whole product on a sample catalogue. It creates an SQLite database in a
 * temporary folder, issues a key and starts the schedule, the proxy and the account pages like an
 * operator. On SIGTERM or Ctrl-C it ends the programs and removes the folder.
 */
import '../lib/program/environment/node-version.ts';
import path from 'node:path';
import { runGenerator } from '../cli/generate.ts';
import { runKeys } from '../cli/keys.ts';
import { PATHS } from '../keys/paths.ts';
import { addLink } from '../keys/tables/sign-in-links.ts';
import { toAccountId } from '../keys/tables/values.ts';
import { openDatabase } from '../lib/database/open.ts';
import { variables } from '../lib/pages/code-block.ts';
import { readArguments } from '../lib/program/arguments.ts';
import { readEnvironment } from '../lib/program/environment/environment.ts';
import { fillDatabase } from './catalogue/load.ts';
import { sampleCatalogue } from './catalogue/sample.ts';
import { drawCovers, serveImages } from './covers.ts';
import { freePort, report, runCommand, runDemo, startProgram, waitUntilReady } from './programs.ts';

const USAGE = `npm run demo

Runs the whole product on a sample catalogue until Ctrl-C. HOST, PORT,
ADMIN_PORT and ACCOUNT_PORT set the addresses on which it listens.
`;
const USER = 'demo@example.org';
const MODERATOR = 'moderator@example.org';

async function main(folder: string): Promise<void> {
  readArguments(USAGE, process.argv.slice(2));
  const { HOST, PORT, ADMIN_PORT } = readEnvironment(['HOST', 'PORT', 'ADMIN_PORT']);
  // First: whatever listens there could be mistaken for a program of the demo that is ready.
  await freePort(PORT, 'PORT', HOST);
  await freePort(ADMIN_PORT, 'ADMIN_PORT');
  const api = `http://${HOST}:${PORT}`;
  // Browsers reach the account pages through the proxy, so any port will do.
  const accountPort = process.env.ACCOUNT_PORT ?? String(await freePort());
  const databaseUrl = `sqlite:${path.join(folder, 'catalogue.db')}`;
  report('Creating the sample catalogue …');
  const { catalogue, images } = drawCovers(sampleCatalogue());
  await fillDatabase(databaseUrl, catalogue);
  const environment = {
    ...process.env,
    DATABASE_URL: databaseUrl,
    SNAPSHOTS_DIR: path.join(folder, 'snapshots'),
    SITE_URL: 'https://covers.example',
    FILES_URL: `http://${HOST}:${await serveImages(images, HOST)}`,
    PUBLIC_URL: api,
    ACCOUNT_HOST: '127.0.0.1',
    ACCOUNT_PORT: accountPort,
    ACCOUNT_URL: `http://127.0.0.1:${accountPort}`,
    MAIL_FOLDER: path.join(folder, 'mail'),
    // The demo does not use a mail server or a site's keys from the environment.
    SMTP_URL: '',
    SITE_JWT_SECRET: '',
    SITE_JWKS: '',
    SIGN_IN_URL: '',
    SIGN_IN_NOTE: `This is a demo. Its accounts are ${USER} and ${MODERATOR}; their e-mails are files in ${path.join(folder, 'mail')}.`,
    LOG_LEVEL: process.env.LOG_LEVEL ?? 'warn',
  };
  const keys = (...words: string[]) => runCommand(runKeys, words, environment);
  const issue = (note: string) => keys('issue', '--limit', '6000', '--note', note);
  const key = await issue('demo');
  report('Generating a snapshot and starting the proxy …');
  // An earlier snapshot, so that `/changes` has something to show.
  const database = await openDatabase(databaseUrl);
  const approved = "SELECT MAX(id) FROM covers WHERE status = 'approved'";
  const [[newest] = []] = await database.rows(approved);
  const decide = (status: string) =>
    database.run('UPDATE covers SET status = ? WHERE id = ?', [status, newest ?? null]);
  for (const status of ['pending', 'approved']) {
    await decide(status);
    await runCommand(runGenerator, [], environment);
  }
  await database.close();
  const explorer = { EXPLORER_KEY: await issue('explorer') };
  startProgram('proxy', { ...environment, ...explorer });
  // Nobody asks their admin addresses. The schedule's warnings would be that only this machine can
  // reach these addresses, which is so on purpose.
  const others = { ...environment, ADMIN_PORT: '0' };
  startProgram('schedule', { ...others, LOG_LEVEL: process.env.LOG_LEVEL ?? 'error' });
  startProgram('account', { ...others, ...explorer });
  await waitUntilReady(`http://127.0.0.1:${ADMIN_PORT}/readyz`);
  await waitUntilReady(`${environment.ACCOUNT_URL}/account/sign-in`);

  /** Adds an account. @returns a link that signs in to it, as an e-mail would have it */
  async function addAccount(email: string, name: string, role: string): Promise<string> {
    const id = await keys('account', 'add', email, '--name', name, '--role', role);
    const database = await openDatabase(databaseUrl);
    const { token } = await addLink(database, toAccountId(id), new Date());
    await database.close();
    return `${api}${PATHS.link}?token=${token}`;
  }

  process.stdout.write(`
Explore the covers:  ${api}/explore
The API is at ${api}/api/v1, its reference at ${api}/docs
The snapshot's files are in ${environment.SNAPSHOTS_DIR}

API key: ${key}
curl -H 'Authorization: Bearer ${key}' ${api}/api/v1/games/snes/chrono-trigger

The examples on the pages read both from variables:
${variables(`${api}/api/v1`, key)}

To try the account pages in a browser, sign in (each link works once, within 15 minutes):
  as a user, to request a key and reveal it:  ${await addAccount(USER, 'Demo user', 'user')}
  as a moderator, to approve or reject it:    ${await addAccount(MODERATOR, 'Demo moderator', 'moderator')}
Use two browsers, or a private window for one of them. To sign in again, request a link at
${api}/account/sign-in with ${USER} or ${MODERATOR}.
E-mails are files in ${environment.MAIL_FOLDER}

Press Ctrl-C to stop everything.
`);
}

await runDemo(main);
