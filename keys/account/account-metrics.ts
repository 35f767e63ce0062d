/**
 * The admin address of `cover-catalogue account`, and its metrics: responses, sign-ins, e-mails, keys by
 * state, and the database.
 */
import type { Server } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { Counter, Histogram, type Registry } from 'prom-client';
import type { Database } from '../../database/database.ts';
import { KEY_STATES } from '../../format/api-key.ts';
import {
  addConnectionMetrics,
  addCounter,
  addGauge,
  addGauges,
} from '../../program/admin/metrics.ts';
import { makeProgramAdmin, type ProgramAdmin } from '../../program/admin/program-admin.ts';
import { readBacklog } from '../mail/outbox.ts';
import type { MailWorker } from './mail/start-mail-worker.ts';

/** A scrape must not read whole tables. */
const MOST_COUNTED = 10_000;

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
  const admin = makeProgramAdmin({
    program: 'account',
    settings,
    refresh: () => metrics.refresh(),
    readiness: () => ({ ready: metrics.isUp(), database: metrics.isUp() }),
  });
  const metrics = addDatabaseMetrics(admin.registry, database, longestWaitMs);
  addMailMetrics(admin.registry, mailCounts);
  return admin;
}

/** Counts the responses of the server of the pages, and its connections. */
export function addServerMetrics(registry: Registry, server: Server, cells: Float64Array): void {
  addConnectionMetrics(registry, 'account', [cells]);
  addResponseMetrics(registry, server);
}

interface DatabaseReadings {
  readonly waiting: number;
  readonly oldest: Date | undefined;
  readonly keys: readonly (readonly [state: string, count: number])[];
}

interface DatabaseMetrics {
  /** Reads the database, unless an earlier call is still waiting for it. */
  refresh(): Promise<void>;
  /** Whether the last {@link refresh} could read the database. */
  isUp(): boolean;
}

function addDatabaseMetrics(
  registry: Registry,
  database: Database,
  longestWaitMs: number,
): DatabaseMetrics {
  let readings: DatabaseReadings | undefined;
  let underWay: Promise<void> | undefined;
  const ageOf = (time: Date | undefined) =>
    time === undefined ? 0 : Math.max(0, (Date.now() - time.getTime()) / 1000);
  addGauge(registry, 'account_database_up', '1 while the database can be read', () =>
    Number(readings !== undefined),
  );
  addGauges(
    registry,
    'account_keys',
    `API keys and requests for them, by state, up to ${MOST_COUNTED} of each`,
    'state',
    () => readings?.keys ?? [],
  );
  addGauge(registry, 'mail_waiting', 'E-mails that wait to be sent', () => readings?.waiting);
  addGauge(
    registry,
    'mail_oldest_seconds',
    'How long the oldest e-mail that was not sent has waited; 0 if none waits',
    () => readings && ageOf(readings.oldest),
  );

  async function read(): Promise<void> {
    try {
      readings = { ...(await readBacklog(database)), keys: await countKeys(database) };
    } catch {
      // The log has the reason, because requests and e-mails fail, too.
      readings = undefined;
    }
  }
  return {
    async refresh() {
      underWay ??= read().finally(() => {
        underWay = undefined;
      });
      const isDone = await Promise.race([
        underWay.then(() => true),
        pause(longestWaitMs, false, { ref: false }),
      ]);
      if (!isDone) readings = undefined;
    },
    isUp: () => readings !== undefined,
  };
}

async function countKeys(database: Database): Promise<DatabaseReadings['keys']> {
  const counts: [string, number][] = [];
  for (const state of KEY_STATES) {
    const [row] = await database.rows(
      `SELECT COUNT(*) FROM (SELECT 1 FROM api_keys WHERE state = ? LIMIT ${MOST_COUNTED}) keys_of_state`,
      [state],
    );
    counts.push([state, Number(row?.[0])]);
  }
  return counts;
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

function addMailMetrics(registry: Registry, counts: MailWorker['counts']): void {
  addGauge(
    registry,
    'account_sign_in_links_waiting',
    'Requests for sign-in links that are not done yet',
    () => counts().links,
  );
  addCounter(
    registry,
    'mail_sent_total',
    'E-mails that a mail server has accepted',
    () => counts().sent,
  );
  addCounter(
    registry,
    'mail_failures_total',
    'Attempts to send an e-mail that have failed',
    () => counts().failed,
  );
}

/** Counts the responses of a server, and how long they took. */
function addResponseMetrics(registry: Registry, server: Server): void {
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
