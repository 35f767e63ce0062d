/**
 * The configuration: every fault, with the checks that the programs make at startup, and values that are
 * valid but probably unintended.
 */
import { type Stats, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { availableParallelism } from 'node:os';
import { openKeysDepot, openWritableDepot } from '../../depot/open.ts';
import { PUSH_CHECKS, readPublicKeys } from '../../depot/signing.ts';
import { checkCron } from '../../generator/cli/cron.ts';
import { MAIL_CHECKS } from '../../keys/mail/mailer.ts';
import {
  type Checks,
  ConfigurationError,
  inspectEnvironment,
} from '../../program/environment/environment.ts';
import { VARIABLES, type VariableName } from '../../program/environment/variables.ts';
import type { Check, Findings, Program, Scene } from '../findings/check.ts';

const SEE = 'See "Configuration" in OPERATIONS.md.';
/** Host names that RFC 2606 reserves for documentation, as in .env.example. */
const PLACEHOLDER =
  /(?:\/\/|@)(?<host>(?:[a-z0-9-]+\.)*(?:example\.(?:com|net|org)|[a-z0-9-]+\.example))(?=[:/>?#]|$)/i;
/**
 * Variables that name files, folders or a database which the other programs need not have access to.
 * With `--for`, they are checked only for these programs.
 */
const RESTRICTED: Readonly<Partial<Record<VariableName, readonly Program[]>>> = {
  DATABASE_URL: ['schedule', 'account'],
  SITE_JWKS: ['account'],
  MAIL_FOLDER: ['account'],
  SNAPSHOT_SIGNING_KEY: ['schedule', 'replica'],
  SNAPSHOT_PUBLIC_KEYS: ['schedule', 'replica'],
};

/** Reads and checks every variable as the programs do. */
export function readConfiguration(
  programs: readonly Program[],
  variables: Readonly<Record<string, string | undefined>>,
): Pick<Scene, 'values' | 'faults'> {
  const names = (Object.keys(VARIABLES) as VariableName[]).filter(
    (name) => RESTRICTED[name]?.some((program) => programs.includes(program)) ?? true,
  );
  // The check of the folder depends on the program, and is a check of its own.
  const { SNAPSHOTS_DIR: _, ...pushChecks } = PUSH_CHECKS;
  const checks: Checks<VariableName> = {
    ...pushChecks,
    ...MAIL_CHECKS,
    GENERATE_CRON: checkCron,
    SNAPSHOT_PUBLIC_KEYS: readPublicKeys,
  };
  const { values, faults } = inspectEnvironment(names, variables, checks);
  return { values, faults: [...faults, ...findDepotFaults(values)] };
}

function findDepotFaults(values: Scene['values']): string[] {
  const { KEYS_DEPOT = '', SNAPSHOT_PUSH = '', REPLICA_FROM = '' } = values;
  try {
    if (SNAPSHOT_PUSH !== '') openWritableDepot(SNAPSHOT_PUSH).close();
    openKeysDepot(KEYS_DEPOT, { SNAPSHOT_PUSH, REPLICA_FROM })?.close();
    return [];
  } catch (error) {
    if (error instanceof ConfigurationError) return [error.message];
    throw error;
  }
}

export const configuration: Check = {
  name: 'configuration',
  programs: ['schedule', 'proxy', 'account', 'replica'],
  async run(scene, findings) {
    const { faults, misspelled, values } = scene;
    for (const fault of faults) findings.error(fault, SEE);
    for (const text of misspelled) findings.warn(text, 'Rename or remove it.');
    if (faults.length === 0) {
      const set = Object.keys(VARIABLES).filter((name) => isSet(scene, name));
      findings.ok(
        `All variables are valid; ${set.length} of ${Object.keys(VARIABLES).length} are set.`,
      );
    }
    checkEnvironmentFile(findings);
    checkAddresses(scene, findings);
    checkRest(scene, findings);
    if (scene.programs.includes('proxy') || scene.programs.includes('replica')) {
      checkMachine(values, findings);
    }
  },
};

function isSet({ variables }: Scene, name: string): boolean {
  return (variables[name]?.trim() ?? '') !== '';
}

/** The file holds passwords. */
function checkEnvironmentFile({ warn }: Findings): void {
  let found: Stats | undefined;
  try {
    found = statSync('.env', { throwIfNoEntry: false });
  } catch {
    // It cannot be reached, which reading it has reported already.
  }
  if (found !== undefined && (found.mode & 0o004) !== 0) {
    warn('.env can be read by every user of this machine.', 'Run: chmod 600 .env');
  }
}

function checkAddresses(scene: Scene, { warn }: Findings): void {
  const { SITE_URL, FILES_URL, PUBLIC_URL, HOST, ACCOUNT_HOST, TRUSTED_PROXIES } = scene.values;
  const ofRecords = scene.programs.includes('schedule') ? { SITE_URL, FILES_URL } : {};
  const addresses = Object.fromEntries(
    Object.entries({ ...ofRecords, PUBLIC_URL }).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value]],
    ),
  );
  for (const [name, address] of Object.entries(addresses)) {
    if (!isLocalUrl(address)) continue;
    warn(
      `${name} is ${address}, which only this machine can reach.`,
      'Set it to the public address.',
    );
  }
  for (const [name, value] of Object.entries(scene.variables)) {
    const { host } = PLACEHOLDER.exec(value ?? '')?.groups ?? {};
    if (!(name in VARIABLES) || host === undefined) continue;
    warn(
      `${name} contains ${host}, a name that is reserved for examples.`,
      'Set it to an address of yours.',
    );
  }
  if (PUBLIC_URL?.startsWith('http://') && !isLocalUrl(PUBLIC_URL)) {
    warn(
      'PUBLIC_URL begins with http://: API keys and sign-in cookies travel without encryption.',
      'Put nginx with TLS in front, and set PUBLIC_URL to the https address.',
    );
  }
  const isBehindProxy = PUBLIC_URL?.startsWith('https://') && isLoopback(HOST);
  if (isBehindProxy && TRUSTED_PROXIES !== undefined && !isSet(scene, 'TRUSTED_PROXIES')) {
    warn(
      'TRUSTED_PROXIES is not set, and HOST is only for this machine: all clients of nginx share the limit of one address.',
      'Set TRUSTED_PROXIES to the address of nginx, such as 127.0.0.1.',
    );
  }
  const isRemote = scene.programs.includes('account') && !isLoopback(ACCOUNT_HOST);
  if (isRemote && TRUSTED_PROXIES !== undefined && !isSet(scene, 'TRUSTED_PROXIES')) {
    warn(
      'TRUSTED_PROXIES is not set, and ACCOUNT_HOST is for other machines: all visitors share the limit of one client on sign-in links.',
      'Set TRUSTED_PROXIES to the address of nginx or of the proxy in front of the account pages.',
    );
  }
}

function checkRest(scene: Scene, { warn }: Findings): void {
  const { values, programs } = scene;
  if (values.ADMIN_HOST !== undefined && !isLoopback(values.ADMIN_HOST)) {
    warn(
      `ADMIN_HOST is ${values.ADMIN_HOST}: other machines may read health and metrics.`,
      'Set it to 127.0.0.1, or allow only the machine of Prometheus in the firewall.',
    );
  }
  if (values.LOG_LEVEL === 'silent') {
    warn('LOG_LEVEL is silent: no failure is logged.', 'Set LOG_LEVEL=info.');
  }
  if (programs.includes('account') && values.SMTP_URL === '') {
    warn(
      'SMTP_URL is not set: e-mails are written to files, and nobody receives them.',
      'Set SMTP_URL to your mail server.',
    );
  }
  if (isSet(scene, 'SNAPSHOT_PUSH') && !isSet(scene, 'SNAPSHOT_SIGNING_KEY')) {
    warn(
      'SNAPSHOT_PUSH is set, and SNAPSHOT_SIGNING_KEY is not: replicas cannot tell who wrote what they pull.',
      'Make a key: openssl genpkey -algorithm ed25519 -out FILE.',
    );
  }
  if (isSet(scene, 'REPLICA_FROM') && !isSet(scene, 'SNAPSHOT_PUBLIC_KEYS')) {
    warn(
      'SNAPSHOT_PUBLIC_KEYS is not set: whoever can write to the depot decides what this replica serves.',
      'Set it to the public key of the origin.',
    );
  }
}

function checkMachine(values: Scene['values'], { warn }: Findings): void {
  const { PROXY_THREADS: threads = 1 } = values;
  const processors = availableParallelism();
  if (threads > processors) {
    warn(
      `PROXY_THREADS is ${threads}, and this machine has ${processors} processors.`,
      `Set PROXY_THREADS to at most ${processors}.`,
    );
  }
}

function isLocalUrl(address: string): boolean {
  return /^https?:\/\/(?:localhost|127\.|\[::1\])/.test(address);
}

function isLoopback(host: string | undefined): boolean {
  if (host === undefined) return true;
  return isIP(host) === 4 ? host.startsWith('127.') : host === '::1' || host === 'localhost';
}
