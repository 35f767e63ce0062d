/**
 * The table of all environment variables: the default of each, and the function that turns its text into a
 * value. `.env.example` describes them, and a test compares both.
 */
import { parseLimitsUrl } from './limits-url.ts';
import { parseJwtSecret, parseSiteKeySource } from './site-keys.ts';
import {
  oneOf,
  parseAccessLog,
  parseAddresses,
  parseApiKey,
  parseDatabaseUrl,
  parseHost,
  parseKeysDepot,
  parseOptionalWebAddress,
  parseSmtpUrl,
  parseSwitch,
  parseText,
  parseWebAddress,
  textOf,
  wholeNumber,
} from './values.ts';

export interface Variable<T> {
  /** The text to use if the variable is unset or empty. A variable without a default must be set. */
  readonly default: string | undefined;
  /** @throws Error that says what is allowed and continues a sentence that begins with the name */
  readonly parse: (text: string) => T;
}

function variable<T>(fallback: string | undefined, parse: (text: string) => T): Variable<T> {
  return { default: fallback, parse };
}

const parsePort = wholeNumber(0, 65_535, 'a port');
const parseRate = wholeNumber(1, 1_000_000);
const parseRegion = textOf(/^[A-Za-z0-9-]{1,63}$/, 'a region such as eu-central-1');
const parseLanguage = textOf(/^[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*$/, 'a language tag such as en');

export const VARIABLES = {
  DATABASE_URL: variable(undefined, parseDatabaseUrl),
  SNAPSHOTS_DIR: variable('./snapshots', parseText),
  SITE_URL: variable('http://localhost:8080', parseWebAddress),
  SITE_LANGUAGE: variable('en', parseLanguage),
  FILES_URL: variable('http://localhost:8080/files', parseWebAddress),
  PUBLIC_URL: variable('http://localhost:8080', parseWebAddress),
  LOG_LEVEL: variable('info', oneOf('fatal', 'error', 'warn', 'info', 'debug', 'silent')),
  ADMIN_HOST: variable('127.0.0.1', parseHost),
  // The ports of the other programs follow it.
  ADMIN_PORT: variable('9090', wholeNumber(0, 65_528, 'a port')),
  GENERATE_CRON: variable('*/15 * * * *', parseText),
  CHANGE_POLL_SECONDS: variable('2', wholeNumber(0, 86_400, 'a whole number of seconds')),
  HOST: variable('127.0.0.1', parseHost),
  PORT: variable('8080', parsePort),
  PROXY_THREADS: variable('1', wholeNumber(1, 64)),
  TRUSTED_PROXIES: variable('', parseAddresses),
  ACCESS_LOG: variable('off', parseAccessLog),
  ACCESS_LOG_FILE: variable('', parseText),
  DEFAULT_RATE_LIMIT: variable('120', parseRate),
  ADDRESS_RATE_LIMIT: variable('60', parseRate),
  LIMITS_URL: variable('', parseLimitsUrl),
  LIMITS_FAILURE: variable('local', oneOf('local', 'refuse')),
  SNAPSHOT_DOWNLOADS: variable('on', parseSwitch),
  EXPLORER_KEY: variable('', parseApiKey),
  ACCOUNT_URL: variable('', parseOptionalWebAddress),
  ACCOUNT_HOST: variable('127.0.0.1', parseHost),
  ACCOUNT_PORT: variable('8081', parsePort),
  SITE_JWT_SECRET: variable('', parseJwtSecret),
  SITE_JWKS: variable('', parseSiteKeySource),
  SMTP_URL: variable('', parseSmtpUrl),
  MAIL_FROM: variable('Cover Catalogue <no-reply@localhost>', parseText),
  MAIL_FOLDER: variable('./mail', parseText),
  SNAPSHOT_PUSH: variable('', parseText),
  SNAPSHOT_SIGNING_KEY: variable('', parseText),
  SNAPSHOT_PUBLIC_KEYS: variable('', parseText),
  KEYS_DEPOT: variable('', parseKeysDepot),
  REPLICA_FROM: variable('', parseText),
  AWS_ACCESS_KEY_ID: variable('', parseText),
  AWS_SECRET_ACCESS_KEY: variable('', parseText),
  AWS_SESSION_TOKEN: variable('', parseText),
  AWS_REGION: variable('us-east-1', parseRegion),
  AWS_ENDPOINT_URL_S3: variable('', parseOptionalWebAddress),
} as const;

export type VariableName = keyof typeof VARIABLES;

/** Only one variable of each pair may be set. */
export const EXCLUSIVE: readonly (readonly [VariableName, VariableName])[] = [
  ['SITE_JWT_SECRET', 'SITE_JWKS'],
];
