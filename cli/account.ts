/**
 * `cover-catalogue account`: serves the account pages on ACCOUNT_HOST:ACCOUNT_PORT and sends the
 * e-mails in the outbox, until SIGTERM or SIGINT. It uses the same database as the generator, and
 * shares no data with the proxy.
 */
import {
  ACCOUNT_VARIABLES,
  assembleAccount,
  CHECKS,
  listenForVisitors,
  stop,
} from '../keys/account/assemble.ts';
import { readArguments } from '../lib/program/arguments.ts';
import { readEnvironment } from '../lib/program/environment/environment.ts';
import { makeCommand } from '../lib/program/failure.ts';
import type { Invocation } from '../lib/program/invocation.ts';
import { makeLog } from '../lib/program/log.ts';
import { reportReady, stopWith } from '../lib/program/service.ts';

const USAGE = `cover-catalogue account

Serves the account pages on ACCOUNT_HOST:ACCOUNT_PORT and sends the e-mails of
the outbox, until SIGTERM or SIGINT. It serves health checks and metrics on
ADMIN_HOST, at the port ADMIN_PORT + 6.

Exit codes: 0 stopped, 1 failed, 2 wrong usage or configuration.
`;
/** After this time, requests and e-mails that are still under way are cut off. */
const STOP_DEADLINE_MS = 10_000;

/** @returns the exit code if they cannot start; undefined if they are served */
export const runAccount = makeCommand(serve, 'The account pages cannot start: ');

async function serve({ words, variables }: Invocation): Promise<undefined> {
  readArguments(USAGE, words);
  const environment = readEnvironment(ACCOUNT_VARIABLES, variables(), CHECKS);
  const log = makeLog(environment.LOG_LEVEL);
  const pages = await assembleAccount(environment, log);
  let isStopping = false;
  stopWith(async (signal) => {
    isStopping = true;
    pages.admin.announceEnd();
    log.info({ signal }, 'stopping');
    await stop(pages, STOP_DEADLINE_MS);
    log.info('stopped');
  });
  const listening = await listenForVisitors(pages, environment);
  if (isStopping) return;
  log.info(listening, 'listening');
  reportReady(log);
}
