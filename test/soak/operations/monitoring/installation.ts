/**
 * One installation of everything, with the real programs: a schedule that pushes to depots, a replica
 * that follows them, a proxy that serves the replica, and the account pages. All admin addresses are on.
 */
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { makeSampleSqlite } from '../../../catalogue/snapshots.ts';
import { makeAccounts, startPages } from '../../../support/account.ts';
import { makeFolder, startProgram, startProxyProgram } from '../../../support/product.ts';
import { until } from '../../support/until.ts';

/** The programs with an admin address. */
export const PROGRAMS = ['proxy', 'schedule', 'account', 'replica'] as const;
export type Program = (typeof PROGRAMS)[number];

export interface Installation {
  readonly databaseUrl: string;
  /** The snapshots folder of the schedule. */
  readonly originDir: string;
  /** The depot that the schedule pushes to. */
  readonly depotDir: string;
  /** The snapshots folder of the replica and the proxy. */
  readonly replicaDir: string;
  readonly mailFolder: string;
  readonly api: string;
  readonly pages: string;
  /** Where each program has its admin address, such as "127.0.0.1:9090". */
  readonly admin: Readonly<Record<Program, string>>;
  metrics(program: Program): Promise<string>;
}

/** @param environment for all programs */
export async function startInstallation(
  environment: Readonly<Record<string, string>> = {},
): Promise<Installation> {
  const folder = makeFolder();
  const at = (name: string) => path.join(folder, name);
  for (const name of ['snapshots-depot', 'keys-depot']) mkdirSync(at(name), { mode: 0o700 });
  const databaseUrl = await makeSampleSqlite();
  await makeAccounts(databaseUrl);
  const own = { KEYS_DEPOT: at('keys-depot'), ...environment };
  const schedule = await startWithAdmin('generator/cli/schedule.ts', 'scheduled', {
    DATABASE_URL: databaseUrl,
    SNAPSHOTS_DIR: at('origin'),
    SNAPSHOT_PUSH: at('snapshots-depot'),
    ...own,
  });
  const replica = await startWithAdmin('commands/replica.ts', 'replicating', {
    REPLICA_FROM: at('snapshots-depot'),
    SNAPSHOTS_DIR: at('replica'),
    ...own,
  });
  const account = await startPages(databaseUrl, {
    MAIL_FOLDER: at('mail'),
    ...environment,
  });
  const proxy = await startProxyProgram(at('replica'), environment);
  await until(async () => (await proxy.readyz()).status === 200);
  const admin = {
    proxy: proxy.listening.admin ?? '',
    schedule: schedule.admin,
    account: account.listening.admin ?? '',
    replica: replica.admin,
  };
  return {
    databaseUrl,
    originDir: at('origin'),
    depotDir: at('snapshots-depot'),
    replicaDir: at('replica'),
    mailFolder: at('mail'),
    api: `${proxy.url}/api/v1`,
    pages: account.url,
    admin,
    metrics: async (program) => (await fetch(`http://${admin[program]}/metrics`)).text(),
  };
}

/** Starts a program and waits until it logs its admin address in the line with this message. */
export async function startWithAdmin(
  program: string,
  message: string,
  environment: Readonly<Record<string, string>>,
) {
  const child = startProgram(program, [], environment);
  let log = '';
  child.stdout?.resume();
  child.stderr?.setEncoding('utf8').on('data', (text) => {
    log += text;
  });
  const lineWith = () => log.split('\n').find((line) => line.includes(`"msg":"${message}"`));
  await until(() => lineWith() !== undefined);
  return { child, admin: String(JSON.parse(lineWith() ?? '{}').admin) };
}
