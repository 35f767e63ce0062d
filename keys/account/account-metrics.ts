/**
 * The admin address of `cover-catalogue account`, and its metrics: responses, sign-ins, e-mails, keys by
 * state, and the database.
 */
import type { Server } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { Counter, Histogram, type Registry } from 'prom-client';
import { type Database, selectCount } from '../../lib/database/database.ts';
import { KEY_STATES } from '../../lib/format/api-key.ts';
import {
  addConnectionMetrics,
  addCounter,
  addGauge,
  addGauges,
} from '../../lib/program/admin/metrics.ts';
import { makeProgramAdmin, type ProgramAdmin } from '../../lib/program/admin/program-admin.ts';
import { readBacklog } from '../mail/outbox.ts';
import type { MailWorker } from './mail-worker/start-mail-worker.ts';

/** A scrape must not read whole tables. */
const MOST_COUNTED = 10_000;

interface Readings {
  readonly waiting: number;
  readonly oldest: Date | undefined;
  readonly keys: readonly (readonly [state: string, count: number])[];
}

/**
 * The pages are ready while the database can be read.
 * @param longestWaitMs how long a scrape waits for the database
 */
export function makeAccountAdmin(
  settings: { readonly ADMIN_HOST: string; readonly ADMIN_PORT: number },
  database: Database,
  mailCounts: MailWorker['counts'],
  longestWaitMs: number,
): ProgramAdmin {
  /** Undefined while the database cannot be read. */
  let readings: Readings | undefined;
  let underWay: Promise<unknown> | undefined;

  /** Reads the database, unless an earlier call is still waiting for it. */
  async function refresh(): Promise<void> {
    // The log has the reason of a failure, because requests and e-mails fail, too.
    underWay ??= readDatabase(database)
      .catch(() => undefined)
      .then((read) => {
        readings = read;
        underWay = undefined;
      });
    const late = pause(longestWaitMs, 'late', { ref: false });
    if ((await Promise.race([underWay, late])) === 'late') readings = undefined;
  }

  const admin = makeProgramAdmin({
    program: 'account',
    settings,
    refresh,
    readiness: () => ({ ready: readings !== undefined, database: readings !== undefined }),
  });
  addMetrics(admin.registry, () => readings, mailCounts);
  return admin;
}

async function readDatabase(database: Database): Promise<Readings> {
  const keys: [string, number][] = [];
  for (const state of KEY_STATES) {
    const from = `(SELECT 1 FROM api_keys WHERE state = ? LIMIT ${MOST_COUNTED}) keys_of_state`;
    keys.push([state, await selectCount(database, from, [state])]);
  }
  return { ...(await readBacklog(database)), keys };
}

function addMetrics(
  registry: Registry,
  readings: () => Readings | undefined,
  mailCounts: MailWorker['counts'],
): void {
  const gauge = (name: string, help: string, read: () => number | undefined) =>
    addGauge(registry, name, help, read);
  const isUp = () => Number(readings() !== undefined);
  gauge('account_database_up', '1 while the database can be read', isUp);
  gauge('mail_waiting', 'E-mails that wait to be sent', () => readings()?.waiting);
  const oldestHelp = 'How long the oldest e-mail that was not sent has waited; 0 if none waits';
  gauge('mail_oldest_seconds', oldestHelp, () => {
    const known = readings();
    const now = Date.now();
    return known && Math.max(0, now - (known.oldest?.getTime() ?? now)) / 1000;
  });
  const linksHelp = 'Requests for sign-in links that are not done yet';
  gauge('account_sign_in_links_waiting', linksHelp, () => mailCounts().links);
  const keysHelp = `API keys and requests for them, by state, up to ${MOST_COUNTED} of each`;
  addGauges(registry, 'account_keys', keysHelp, 'state', () => readings()?.keys ?? []);
  const sentHelp = 'E-mails that a mail server has accepted';
  addCounter(registry, 'mail_sent_total', sentHelp, () => mailCounts().sent);
  const failedHelp = 'Attempts to send an e-mail that have failed';
  addCounter(registry, 'mail_failures_total', failedHelp, () => mailCounts().failed);
}

/** @returns a function that counts a use of a sign-in link */
export function addSignInMetrics(registry: Registry): (outcome: 'done' | 'refused') => void {
  const signIns = new Counter({
    name: 'account_sign_ins_total',
    help: 'Uses of a sign-in link: done, or refused because it was used, expired or never valid',
    labelNames: ['outcome'] as const,
    registers: [registry],
  });
  for (const outcome of ['done', 'refused']) signIns.inc({ outcome }, 0);
  return (outcome) => signIns.inc({ outcome });
}

/** Counts the responses of the server of the pages, how long they took, and its connections. */
export function addServerMetrics(registry: Registry, server: Server, cells: Float64Array): void {
  addConnectionMetrics(registry, 'account', [cells]);
  const seconds = new Histogram({
    name: 'account_response_seconds',
    help: 'How long the responses of the account pages took, by status',
    labelNames: ['status'] as const,
    buckets: [0.005, 0.02, 0.1, 0.5, 2, 10],
    registers: [registry],
  });
  server.on('request', (_request, response) => {
    const started = performance.now();
    response.once('finish', () => {
      seconds.observe({ status: response.statusCode }, (performance.now() - started) / 1000);
    });
  });
}
