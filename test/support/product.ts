/**
 * Runs the product on real files and ports: in this process, or as a program where its arguments, signals,
 * exit code or threads are the subject. At the end of a test file, what was started here is ended.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import { request } from 'undici';
import { runGenerator } from '#cli/generate.ts';
import { runKeys as runKeysCommand } from '#cli/keys.ts';
import { compose, PROXY_VARIABLES } from '#cli/proxy.ts';
import { runSnapshot } from '#cli/snapshot.ts';
import { hashKey, makeKey } from '#lib/format/api-key.ts';
import { type DecidedState, encodeKeys } from '#lib/format/keys-file.ts';
import { KEYS_FILE } from '#lib/format/layout.ts';
import { readEnvironment } from '#lib/program/environment/environment.ts';
import type { Invocation } from '#lib/program/invocation.ts';
import { assembleProxy, type Intervals, type Overrides } from '#proxy/assemble.ts';
import { SITE } from '#test/catalogue/make-sample.ts';
import { atEndOfFile } from './end-of-file.ts';
import { type Log, makeLog } from './log.ts';
import { COMPILE_CACHE, commandLine, type Texts } from './processes.ts';

export const ROOT = path.join(import.meta.dirname, '../..');

// For the thread of a run of the generator in this process: starting it then takes half the time.
Object.assign(process.env, COMPILE_CACHE);

export interface Finished {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A new empty folder, removed when the test file ends. */
export function makeFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'cover-catalogue-'));
  atEndOfFile(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/**
 * Starts a program of the product, such as "proxy".
 * @param wrapper a command that executes the command line after it, such as `setpriv`
 */
export function startProgram(
  program: string,
  args: readonly string[],
  environment: Texts,
  wrapper: readonly string[] = [],
): ChildProcess {
  const node = [...commandLine(program), ...args];
  const [command, ...rest] = [...wrapper, ...node] as [string, ...string[]];
  const child = spawn(command, rest, {
    // Not the checkout, because a developer's .env there must not affect a test.
    cwd: tmpdir(),
    env: {
      PATH: process.env.PATH ?? '',
      HOME: process.env.HOME ?? '',
      ...COMPILE_CACHE,
      ADMIN_PORT: '0',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  atEndOfFile(() => end(child, 'SIGKILL'));
  return child;
}

/** Runs a program of the product to its end. */
export async function runProgram(
  program: string,
  args: readonly string[],
  environment: Texts,
  launcher: readonly string[] = [],
): Promise<Finished> {
  return finish(startProgram(program, args, environment, launcher));
}

/** Waits for the end of a program and collects its output. */
export function finish(child: ChildProcess): Promise<Finished> {
  return new Promise((resolve) => {
    let stdout = '';
    let stderr = '';
    child.stdout?.setEncoding('utf8').on('data', (text) => {
      stdout += text;
    });
    child.stderr?.setEncoding('utf8').on('data', (text) => {
      stderr += text;
    });
    child.once('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
}

/** Sends a signal to a process and waits for its end. */
export async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const gone = new Promise<number | null>((resolve) => child.once('exit', resolve));
  child.kill(signal);
  return gone;
}

/** Runs a command of the product in this process. @param words its arguments */
export async function runCommand(
  command: (invocation: Invocation) => Promise<number>,
  words: readonly string[],
  variables: Texts,
): Promise<Finished> {
  const printed = { stdout: '', stderr: '' };
  const print = (name: keyof typeof printed) => ({
    write(text: string | Uint8Array) {
      printed[name] += typeof text === 'string' ? text : Buffer.from(text).toString('utf8');
    },
  });
  const code = await command({
    words,
    variables: () => variables,
    stdout: print('stdout'),
    stderr: print('stderr'),
  });
  return { code, signal: null, ...printed };
}

/** Runs `cover-catalogue snapshot` in this process. */
export function runSnapshots(snapshotsDir: string, ...words: string[]): Promise<Finished> {
  return runCommand(runSnapshot, words, { SNAPSHOTS_DIR: snapshotsDir });
}

/** Runs `cover-catalogue keys` in this process. */
export function runKeys(
  databaseUrl: string,
  words: readonly string[],
  variables: Texts = {},
): Promise<Finished> {
  return runCommand(runKeysCommand, words, { DATABASE_URL: databaseUrl, ...variables });
}

/** The variables of a run of the generator. */
export function generatorVariables(databaseUrl: string, snapshotsDir: string): Texts {
  return { ...SITE, DATABASE_URL: databaseUrl, SNAPSHOTS_DIR: snapshotsDir };
}

/** Runs the generator once in this process; fails the test unless it ends with 0. */
export async function generate(
  databaseUrl: string,
  snapshotsDir: string,
  words: readonly string[] = [],
): Promise<Finished> {
  const variables = generatorVariables(databaseUrl, snapshotsDir);
  const finished = await runCommand(runGenerator, words, variables);
  if (finished.code !== 0)
    throw new Error(`The generator ended with ${finished.code}:\n${finished.stderr}`);
  return finished;
}

export interface TestKey {
  readonly id: number;
  readonly key: string;
  readonly state?: DecidedState;
  readonly limit?: number;
  readonly ends_at?: string;
}

/** A key for `keys.json`, approved and with a very high limit unless `changes` says otherwise. */
export function testKey(id: number, changes: Partial<TestKey> = {}): TestKey {
  return { id, key: makeKey(), state: 'approved', limit: 1_000_000, ...changes };
}

/** Writes `keys.json` as the generator would. */
export function writeKeys(snapshotsDir: string, keys: readonly TestKey[]): void {
  const entries = keys.map(({ key, state = 'approved', limit = 120, ...rest }) => ({
    ...rest,
    hash: hashKey(key),
    state,
    limit,
  }));
  writeFileSync(path.join(snapshotsDir, KEYS_FILE), encodeKeys(entries), { mode: 0o600 });
}

/** A program of the product, with its log. */
export interface RunningProgram {
  readonly child: ChildProcess;
  /** Its log so far. */
  log(): string;
  /** Resolves with the line when the log has so many lines that contain the text; see {@link Log}. */
  readonly logged: Log['logged'];
  /** Sends SIGTERM, which takes a proxy half a second. @returns the exit code */
  stop(): Promise<number | null>;
  /** Sends SIGKILL, for a test that no longer needs the program. */
  kill(): Promise<unknown>;
}

/** Starts a program as {@link startProgram} does, and collects its log. */
export function startLogged(...started: Parameters<typeof startProgram>): RunningProgram {
  const child = startProgram(...started);
  const log = makeLog();
  child.stdout?.resume();
  child.stderr?.setEncoding('utf8').on('data', log.write);
  const closed = new Promise((resolve) => child.once('close', resolve));
  child.once('close', (code) => log.end(`${started[0]} ended with ${code}`));
  return {
    child,
    log: log.text,
    logged: log.logged,
    async stop() {
      const code = await end(child, 'SIGTERM');
      await closed;
      return code;
    },
    kill: () => end(child, 'SIGKILL'),
  };
}

export interface RunningServer extends RunningProgram {
  /** The addresses on which it listens, from its log. */
  readonly listening: Texts;
}

/** Starts a server of the product as a program, and waits until it listens. */
export async function startServing(
  program: string,
  environment: Texts,
  wrapper: readonly string[] = [],
): Promise<RunningServer> {
  const server = startLogged(program, [], environment, wrapper);
  return { ...server, listening: JSON.parse(await server.logged('"msg":"listening"')) };
}

export interface RunningProxy {
  /** The address of the API, without a trailing slash. */
  readonly url: string;
  readonly port: number;
  readonly adminUrl: string;
  /** Sends a GET to the API with a key. @param target such as "/stats", below the base path */
  get(target: string, key: string, headers?: Texts): Promise<Reply>;
  readyz(): Promise<Reply>;
  /** The text of the metrics. */
  metrics(): Promise<string>;
  /** Its log so far. */
  log(): string;
  /** Resolves with the line when the log has so many lines that contain the text; see {@link Log}. */
  readonly logged: Log['logged'];
  stop(): Promise<unknown>;
}

/** A proxy in this process. */
export interface OwnProxy extends RunningProxy {
  /** Reads the snapshots folder now. Resolves when the proxy serves what is in it. */
  refresh(): Promise<void>;
}

export type ProxyProgram = RunningProxy & RunningServer;

/** Long enough that files are read only when a test says so. */
export const NEVER: Intervals = { snapshot: 1e9, keys: 1e9, maintenance: 1e9, usage: 1e9 };
const OFTEN: Intervals = { snapshot: 20, keys: 20, maintenance: 20, usage: 60_000 };

/** Starts a proxy in this process, on free ports. */
export async function startProxy(
  snapshotsDir: string,
  environment: Texts = {},
  intervals: Intervals = OFTEN,
  overrides: Overrides = {},
): Promise<OwnProxy> {
  const log = makeLog();
  const variables = proxyVariables(snapshotsDir, environment);
  const settings = readEnvironment(PROXY_VARIABLES, variables);
  const logger = pino({ level: settings.LOG_LEVEL }, log);
  const own = { intervals, ...overrides };
  const proxy = await assembleProxy(settings, logger, compose(settings), own);
  let stopping: Promise<void> | undefined;
  const stopOnce = () => {
    stopping ??= proxy.stop(async () => {});
    return stopping;
  };
  atEndOfFile(stopOnce);
  const addresses = await proxy.start();
  return {
    ...clientOf(addresses),
    log: log.text,
    logged: log.logged,
    refresh: proxy.refresh,
    stop: stopOnce,
  };
}

/** Starts `cover-catalogue proxy` on free ports. */
export async function startProxyProgram(
  snapshotsDir: string,
  environment: Texts = {},
  wrapper: readonly string[] = [],
): Promise<ProxyProgram> {
  const variables = proxyVariables(snapshotsDir, environment);
  const server = await startServing('proxy', variables, wrapper);
  return { ...server, ...clientOf(server.listening) };
}

function proxyVariables(snapshotsDir: string, environment: Texts): Texts {
  return {
    SNAPSHOTS_DIR: snapshotsDir,
    PORT: '0',
    ADMIN_PORT: '0',
    // As by default, but without the warning that it is not set.
    PUBLIC_URL: 'http://localhost:8080',
    ...environment,
  };
}

/** @param listening the addresses of a proxy */
function clientOf({ api = '', admin }: Texts) {
  const [url, adminUrl] = [`http://${api}`, `http://${admin}`];
  return {
    url,
    adminUrl,
    port: Number(api.split(':').at(-1)),
    get: (target: string, key: string, headers: Texts = {}) =>
      send(`${url}/api/v1${target}`, { headers: { 'x-api-key': key, ...headers } }),
    readyz: () => send(`${adminUrl}/readyz`),
    metrics: async () => (await send(`${adminUrl}/metrics`)).text,
  };
}

export interface Reply {
  readonly status: number;
  readonly headers: Texts;
  readonly bytes: Buffer;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into bodies of any shape
  readonly json: any;
}

/** Header fields with which a request is read by one of the two parsers. */
export const PARSERS: readonly (readonly [string, Texts])[] = [
  ['the fast path', {}],
  ["Node's HTTP parser", { 'content-length': '0' }],
];

/** Sends one request, without following redirects or decoding the body. */
export async function send(
  url: string,
  options: { method?: string; headers?: Record<string, string | string[]> } = {},
): Promise<Reply> {
  const { origin } = new URL(url);
  const target = {
    // Passed separately from the origin: a URL would resolve "%2e%2e" before it is sent.
    path: url.slice(origin.length) || '/',
    method: (options.method ?? 'GET') as 'GET',
    headers: options.headers ?? {},
  };
  const { statusCode, headers, body } = await request(origin, target);
  const bytes = Buffer.from(await body.arrayBuffer());
  const text = bytes.toString('utf8');
  return {
    status: statusCode,
    headers: headers as Record<string, string>,
    bytes,
    text,
    get json() {
      return JSON.parse(text);
    },
  };
}
