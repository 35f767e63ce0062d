/**
 * The configuration: the faults that the programs would report at their start, and values that are
 * valid but probably unintended.
 */
import { statSync } from 'node:fs';
import path from 'node:path';
import { PUSH_CHECKS } from '../../../depot/signing.ts';
import { checkCron } from '../../../generator/schedule/cron.ts';
import { SITE_KEY_CHECKS } from '../../../keys/account/visitors/site-keys.ts';
import { MAIL_CHECKS } from '../../../keys/mail/mailer.ts';
import { inspectEnvironment } from '../../../lib/program/environment/environment.ts';
import { VARIABLES, type VariableName } from '../../../lib/program/environment/variables.ts';
import { checkReadableFolder } from '../../../lib/program/folders.ts';
import { SITE_CHECKS } from '../../../site/site.ts';
import type { Check, CheckContext, Program } from '../check.ts';

/** In the checkout, or in the installed package. */
const EXAMPLE = path.relative('', path.join(import.meta.dirname, '../../../.env.example'));

/** Host names that RFC 2606 reserves for documentation, as in .env.example. */
export const PLACEHOLDER = /(?:\/\/|@)((?:[a-z0-9-]+\.)*example\.(?:com|net|org))(?=[:/>?#]|$)/i;
/** Addresses that only this machine can reach. */
const LOCAL = /^https?:\/\/(?:localhost|127\.|\[::1\])/;
/** A variable with a secret, and its value: a password in an address, or a secret as a whole. */
const SECRET =
  /^\w+=\w+:\/\/[^/]*:[^@]+@|^(?:SITE_JWT_SECRET|AWS_SECRET_ACCESS_KEY|EXPLORER_KEY)=./;
/** Programs may not have access to the files and the database that only others need. */
const RESTRICTED: Readonly<Partial<Record<VariableName, readonly Program[]>>> = {
  DATABASE_URL: ['schedule', 'account'],
  SITE_JWKS: ['account'],
  SIGN_IN_URL: ['account'],
  MAIL_FOLDER: ['account'],
  SNAPSHOT_SIGNING_KEY: ['schedule'],
  SNAPSHOT_PUBLIC_KEYS: ['schedule', 'replica'],
};

/** Reads and checks every variable as the programs do. */
export function readConfiguration(
  programs: readonly Program[],
  variables: CheckContext['variables'],
): Pick<CheckContext, 'values' | 'faults'> {
  const names = (Object.keys(VARIABLES) as VariableName[]).filter(
    (name) => RESTRICTED[name]?.some((program) => programs.includes(program)) ?? true,
  );
  const writes = programs.includes('schedule') || programs.includes('replica');
  return inspectEnvironment(names, variables, {
    ...PUSH_CHECKS,
    ...MAIL_CHECKS,
    ...SITE_KEY_CHECKS,
    ...SITE_CHECKS,
    ...(writes ? {} : { SNAPSHOTS_DIR: checkReadableFolder }),
    GENERATE_CRON: checkCron,
  });
}

export const configuration: Check = {
  name: 'configuration',
  programs: ['schedule', 'proxy', 'account', 'replica'],
  fix: `Correct .env, as ${EXAMPLE} shows.`,
  async run({ values, faults, variables, programs }, { ok, warn, error }) {
    for (const fault of faults) {
      const [name] = fault.split(' ', 1);
      error(fault, `Correct it in .env. To see its form, run: grep -B 2 '${name}=' ${EXAMPLE}`);
    }
    if (faults.length === 0) ok('All variables are valid.');
    const mode = statSync('.env', { throwIfNoEntry: false })?.mode ?? 0;
    if ((mode & 0o004) !== 0) {
      const holder = Object.keys(values).find((name) =>
        SECRET.test(`${name}=${variables[name] ?? ''}`),
      );
      const text = '.env can be read by every user of this machine';
      const fix = 'Run: chmod 600 .env';
      if (holder === undefined) warn(`${text}.`, fix);
      else error(`${text}, and ${holder} holds a secret.`, fix);
    }
    const isSet = (name: VariableName) => (variables[name]?.trim() ?? '') !== '';
    const { SITE_URL, FILES_URL, PUBLIC_URL = '', TRUSTED_PROXIES } = values;
    const ofRecords = programs.includes('schedule') ? { SITE_URL, FILES_URL } : {};
    for (const [name, address = ''] of Object.entries({ ...ofRecords, PUBLIC_URL })) {
      if (!LOCAL.test(address)) continue;
      const text = `${name} is ${address}, which only this machine can reach.`;
      warn(text, 'Set it to the public address.');
    }
    for (const name of Object.keys(values)) {
      const [, host] = PLACEHOLDER.exec(variables[name] ?? '') ?? [];
      if (host === undefined) continue;
      const text = `${name} contains ${host}, a name that is reserved for examples.`;
      warn(text, 'Set it to an address of yours.');
    }
    if (PUBLIC_URL.startsWith('http:') && !LOCAL.test(PUBLIC_URL)) {
      warn(
        'PUBLIC_URL begins with http://: API keys and sign-in cookies travel without encryption.',
        'Put nginx with TLS in front, and set PUBLIC_URL to the https address.',
      );
    }
    if (PUBLIC_URL.startsWith('https:') && TRUSTED_PROXIES && !isSet('TRUSTED_PROXIES')) {
      warn(
        'PUBLIC_URL is an https address, and TRUSTED_PROXIES is not set: all clients of nginx share the limit of one address.',
        'Set TRUSTED_PROXIES to the address of nginx, such as 127.0.0.1.',
      );
    }
    if (programs.includes('proxy') && !isSet('EXPLORER_KEY')) {
      ok(
        'EXPLORER_KEY is not set, so the site has no /explore and /match. To have them, run "cover-catalogue keys issue --for-explorer", and put what it prints into the settings of the proxy.',
      );
    }
    if (isSet('SNAPSHOT_PUSH') && !isSet('SNAPSHOT_SIGNING_KEY')) {
      warn(
        'SNAPSHOT_PUSH is set, and SNAPSHOT_SIGNING_KEY is not: replicas cannot tell who wrote what they pull.',
        'Make a key, as "Replicas" in operations/replicas.md says.',
      );
    }
    if (isSet('REPLICA_FROM') && !isSet('SNAPSHOT_PUBLIC_KEYS')) {
      warn(
        'SNAPSHOT_PUBLIC_KEYS is not set: whoever can write to the depot decides what this replica serves.',
        'Set it to the public key of the origin.',
      );
    }
  },
};
