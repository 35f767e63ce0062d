/**
 * The table of all environment variables of the project. For each: its default, its meaning, and the
 * function that turns its text into a value. OPERATIONS.md repeats the table, and a test compares both.
 */
import { parseLimitsUrl } from './limits-url.ts';
import { parseJwtSecret, parseSiteKeySource } from './site-keys.ts';
import { parseSmtpUrl } from './smtp-url.ts';
import {
  parseAccessLog,
  parseAddresses,
  parseApiKey,
  parseDatabaseUrl,
  parseFailure,
  parseHost,
  parseKeysStore,
  parseLanguage,
  parseLevel,
  parseOptionalPort,
  parseOptionalWebAddress,
  parsePort,
  parseRate,
  parseRegion,
  parseSeconds,
  parseSwitch,
  parseThreads,
  parseWebAddress,
} from './values.ts';

export interface Variable<T> {
  /** The text to use if the variable is unset or empty. A variable without a default must be set. */
  readonly default: string | undefined;
  readonly meaning: string;
  /** @throws Error that says what is allowed and continues a sentence that begins with the name */
  readonly parse: (text: string) => T;
}

function variable<T>(
  fallback: string | undefined,
  meaning: string,
  parse: (text: string) => T,
): Variable<T> {
  return { default: fallback, meaning, parse };
}

export const VARIABLES = {
  DATABASE_URL: variable(
    undefined,
    'the catalogue database: `mysql://user:password@host:3306/name` or `sqlite:path/to/catalogue.db`',
    parseDatabaseUrl,
  ),
  SNAPSHOTS_DIR: variable(
    './snapshots',
    'folder of the generations and of `keys.json`',
    (text) => text,
  ),
  HOST: variable('127.0.0.1', 'address that the API listens on', parseHost),
  PORT: variable('8080', 'port of the API', parsePort),
  PROXY_THREADS: variable(
    '1',
    'number of serving threads of the proxy; they share one port and one set of limits',
    parseThreads,
  ),
  ADMIN_HOST: variable('127.0.0.1', 'address that health checks and metrics listen on', parseHost),
  ADMIN_PORT: variable(
    '9090',
    'port of `/healthz`, `/readyz` and `/metrics` of the proxy',
    parsePort,
  ),
  ACCESS_LOG: variable(
    'off',
    'which requests the proxy writes to its access log: `off`, `errors` (status 400 and above), a random share such as `1/100`, or `all`',
    parseAccessLog,
  ),
  ACCESS_LOG_FILE: variable(
    '',
    'file of the access log, which the proxy reopens on SIGHUP; if empty, stdout',
    (text) => text,
  ),
  SCHEDULE_ADMIN_PORT: variable(
    '',
    'port of `/healthz`, `/readyz` and `/metrics` of `cover-catalogue schedule`, on `ADMIN_HOST`; if empty, it serves none of them',
    parseOptionalPort,
  ),
  ACCOUNT_ADMIN_PORT: variable(
    '',
    'the same for `cover-catalogue account`, which needs a port of its own',
    parseOptionalPort,
  ),
  REPLICA_ADMIN_PORT: variable(
    '',
    'the same for `cover-catalogue replica`, which needs a port of its own',
    parseOptionalPort,
  ),
  SNAPSHOT_DOWNLOADS: variable(
    'on',
    '`on`: clients with a key can fetch whole generations from `/snapshot`, as mirrors do; `off`: these paths answer 404, and clients have no consistent copy of the catalogue',
    parseSwitch,
  ),
  EXPLORER_KEY: variable(
    '',
    'API key that the pages under `/explore` use for visitors without a key, within the limit of this key: each visitor a quarter of it, at most 120 pages a minute; if empty, visitors enter their own',
    parseApiKey,
  ),
  MIRROR_KEY: variable(
    '',
    'API key of `cover-catalogue mirror`, unless `--key` or `--key-file` is given',
    (text) => text,
  ),
  SNAPSHOT_PUSH: variable(
    '',
    'store to which each published generation is pushed: a folder or `s3://bucket/prefix`; if empty, none',
    (text) => text,
  ),
  SNAPSHOT_SIGNING_KEY: variable(
    '',
    'private key that signs pushed snapshots: the file that `cover-catalogue snapshot keygen` wrote, or the line in it',
    (text) => text,
  ),
  SNAPSHOT_PUBLIC_KEYS: variable(
    '',
    'public keys, one of which must have signed a snapshot from a store: lines that `cover-catalogue snapshot keygen` printed, or files that contain them, separated by commas',
    (text) => text,
  ),
  AWS_ACCESS_KEY_ID: variable('', 'id of the access key for S3 stores', (text) => text),
  AWS_SECRET_ACCESS_KEY: variable('', 'secret of that access key', (text) => text),
  AWS_SESSION_TOKEN: variable('', 'session token, if the access key is temporary', (text) => text),
  AWS_REGION: variable('us-east-1', 'region of S3 stores', parseRegion),
  AWS_ENDPOINT_URL_S3: variable(
    '',
    "address of the S3 server; if empty, Amazon's",
    parseOptionalWebAddress,
  ),
  SITE_URL: variable(
    'http://localhost:8080',
    'website of the catalogue, to which the records link',
    parseWebAddress,
  ),
  SITE_LANGUAGE: variable('en', 'language segment in the links to `SITE_URL`', parseLanguage),
  FILES_URL: variable(
    'http://localhost:8080/files',
    'base address of the cover files; the path of a file is appended to it',
    parseWebAddress,
  ),
  GENERATE_CRON: variable(
    '*/15 * * * *',
    'cron expression, in UTC, for when `cover-catalogue schedule` starts a run; `off`: it starts no runs and does not poll for changes, but still exports the keys, imports key usage and pushes',
    (text) => text,
  ),
  CHANGE_POLL_SECONDS: variable(
    '2',
    'seconds between two polls of `cover-catalogue schedule` for changes, if the tables have `updated_at`; `0`: it does not poll',
    parseSeconds,
  ),
  PUBLISH_AT_MOST_EVERY: variable(
    '10',
    'least number of seconds between the starts of two runs that publish changes; a run that removes games or covers does not wait',
    parseSeconds,
  ),
  REPLICA_FROM: variable(
    '',
    'where `cover-catalogue replica` pulls snapshots from, unless `--from` is given: a folder, `s3://bucket/prefix`, or the http or https address of a web server',
    (text) => text,
  ),
  REPLICA_NAME: variable(
    '',
    'name under which a replica sends key usage; if empty, the host name and a hash of the path of `SNAPSHOTS_DIR`',
    (text) => text,
  ),
  KEYS_STORE: variable(
    '',
    'private store through which replicas get the API keys and send key usage: a folder or `s3://bucket/prefix`; if empty, none',
    parseKeysStore,
  ),
  DEFAULT_RATE_LIMIT: variable(
    '120',
    'requests per minute of a key that is issued without its own limit',
    parseRate,
  ),
  ADDRESS_RATE_LIMIT: variable(
    '60',
    'requests per minute that one address may send without a valid key',
    parseRate,
  ),
  LIMITS_URL: variable(
    '',
    'Redis or Valkey server that counts the limits of all proxies, such as `redis://:password@host:6379`; if empty, each proxy counts on its own',
    parseLimitsUrl,
  ),
  LIMITS_FAILURE: variable(
    'local',
    'what a proxy does while it cannot reach that server: `local`: it counts on its own; `refuse`: it answers 503',
    parseFailure,
  ),
  TRUSTED_PROXIES: variable(
    '',
    'proxies whose `X-Forwarded-For` is trusted: comma-separated addresses or CIDR ranges',
    parseAddresses,
  ),
  ACCOUNT_HOST: variable('127.0.0.1', 'address that the account pages listen on', parseHost),
  ACCOUNT_PORT: variable('8081', 'port of the account pages', parsePort),
  ACCOUNT_URL: variable(
    '',
    'where the proxy forwards `/account` and `/moderation`, such as `http://127.0.0.1:8081`; if empty, these paths answer 404',
    parseOptionalWebAddress,
  ),
  PUBLIC_URL: variable(
    'http://localhost:8080',
    'address at which browsers reach the account pages and clients reach the API; links in responses begin with it; if it is https, browsers send cookies over TLS only',
    parseWebAddress,
  ),
  SITE_JWT_SECRET: variable(
    '',
    'secret of at least 32 bytes with which your site signs JWTs (HS256); if neither this nor `SITE_JWKS` is set, users sign in with e-mailed links',
    parseJwtSecret,
  ),
  SITE_JWKS: variable(
    '',
    'public keys that verify the JWTs of your site: a JWKS file, or the https address of one',
    parseSiteKeySource,
  ),
  SMTP_URL: variable(
    '',
    'mail server, such as `smtp://user:password@host:587`; if empty, e-mails are written to files',
    parseSmtpUrl,
  ),
  MAIL_FROM: variable('Cover Catalogue <no-reply@localhost>', 'sender of e-mails', (text) => text),
  MAIL_FOLDER: variable('./mail', 'folder for e-mails when `SMTP_URL` is empty', (text) => text),
  LOG_LEVEL: variable('info', '`fatal`, `error`, `warn`, `info`, `debug` or `silent`', parseLevel),
} as const;

export type VariableName = keyof typeof VARIABLES;

/** Only one variable of each pair may be set. */
export const EXCLUSIVE: readonly (readonly [VariableName, VariableName])[] = [
  ['SITE_JWT_SECRET', 'SITE_JWKS'],
];
