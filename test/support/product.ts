/**
 * Runs the product as its users do: the real programs under Node, on real files and ports. At the
 * end of the test file, every process that was started here is ended.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { request } from 'undici';
import { afterAll } from 'vitest';
import { hashKey, makeKey } from '../../format/api-key.ts';
import { type DecidedState, encodeKeys } from '../../format/keys-file.ts';
import { KEYS_FILE } from '../../format/layout.ts';
import { COMPILE_CACHE, flagsOf } from './processes.ts';

export const ROOT = path.join(import.meta.dirname, '../..');

export interface Finished {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

const running = new Set<ChildProcess>();
const folders: string[] = [];

afterAll(async () => {
  await Promise.all([...running].map((child) => end(child, 'SIGKILL')));
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** A new empty folder, removed when the test file ends. */
export function makeFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'cover-catalogue-'));
  folders.push(folder);
  return folder;
}

/**
 * Starts a program of the product, such as "generator/cli/main.ts".
 * @param wrapper a command that executes the command line after it, such as `setpriv`
 */
export function startProgram(
  program: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  wrapper: readonly string[] = [],
): ChildProcess {
  const node = [process.execPath, ...flagsOf(program), path.join(ROOT, program), ...args];
  const [command, ...rest] = [...wrapper, ...node] as [string, ...string[]];
  const child = spawn(command, rest, {
    // Not the checkout, because a developer's .env there must not affect a test.
    cwd: tmpdir(),
    env: {
      PATH: process.env.PATH ?? '',
      HOME: process.env.HOME ?? '',
      ...COMPILE_CACHE,
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
}

/** Runs a program of the product to its end. */
export async function runProgram(
  program: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
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

/** Runs `generator/cli/main.ts` once; fails the test unless it ends with 0. */
export async function generate(
  databaseUrl: string,
  snapshotsDir: string,
  args: readonly string[] = [],
): Promise<Finished> {
  const finished = await runProgram('generator/cli/main.ts', args, {
    DATABASE_URL: databaseUrl,
    SNAPSHOTS_DIR: snapshotsDir,
    SITE_URL: 'https://covers.example',
    FILES_URL: 'https://files.covers.example',
    PUBLIC_URL: 'https://api.covers.example',
  });
  if (finished.code !== 0)
    throw new Error(`The generator ended with ${finished.code}:\n${finished.stderr}`);
  return finished;
}

export interface TestKey {
  readonly id: number;
  readonly key: string;
  readonly state?: DecidedState;
  readonly limit?: number;
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

export interface RunningServer {
  readonly child: ChildProcess;
  /** The addresses on which it listens, from its log. */
  readonly listening: Readonly<Record<string, string>>;
  /** Its log so far. */
  log(): string;
  /** Sends SIGTERM, which takes a proxy half a second. @returns the exit code */
  stop(): Promise<number | null>;
  /** Sends SIGKILL, for a test that no longer needs the server. */
  kill(): Promise<unknown>;
}

/** Starts a server of the product and waits until it listens. */
export async function startServing(
  program: string,
  environment: Readonly<Record<string, string>>,
  wrapper: readonly string[] = [],
): Promise<RunningServer> {
  const child = startProgram(program, [], environment, wrapper);
  let log = '';
  child.stdout?.resume();
  const listening = await new Promise<Record<string, string>>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`${program} ended with ${code}:\n${log}`)));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      log += text;
      const line = log.split('\n').find((candidate) => candidate.includes('"msg":"listening"'));
      if (line !== undefined) resolve(JSON.parse(line));
    });
  });
  return {
    child,
    listening,
    log: () => log,
    stop: () => end(child, 'SIGTERM'),
    kill: () => end(child, 'SIGKILL'),
  };
}

export interface RunningProxy extends RunningServer {
  /** The address of the API, without a trailing slash. */
  readonly url: string;
  readonly port: number;
  readonly adminUrl: string;
  /** Sends a GET to the API with a key. @param target such as "/stats", below the base path */
  get(target: string, key: string, headers?: Readonly<Record<string, string>>): Promise<Reply>;
  readyz(): Promise<Reply>;
  /** The text of the metrics. */
  metrics(): Promise<string>;
}

/** Starts `proxy/main.ts` on free ports. */
export async function startProxy(
  snapshotsDir: string,
  environment: Readonly<Record<string, string>> = {},
  wrapper: readonly string[] = [],
): Promise<RunningProxy> {
  const own = {
    SNAPSHOTS_DIR: snapshotsDir,
    PORT: '0',
    ADMIN_PORT: '0',
    // As by default, but without the warning that it is not set.
    PUBLIC_URL: 'http://localhost:8080',
    ...environment,
  };
  const server = await startServing('proxy/main.ts', own, wrapper);
  const { api = '', admin } = server.listening;
  const [url, adminUrl] = [`http://${api}`, `http://${admin}`];
  return {
    ...server,
    url,
    adminUrl,
    port: Number(api.split(':').at(-1)),
    get: (target, key, headers = {}) =>
      send(`${url}/api/v1${target}`, { headers: { 'x-api-key': key, ...headers } }),
    readyz: () => send(`${adminUrl}/readyz`),
    metrics: async () => (await send(`${adminUrl}/metrics`)).text,
  };
}

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into bodies of any shape
  readonly json: any;
}

/** Header fields with which a request is read by one of the two parsers. */
export const PARSERS: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
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

/** Waits until a condition holds; fails after thirty seconds. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 600; tries++) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('The condition did not hold within thirty seconds.');
}
