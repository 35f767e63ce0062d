/**
 * The programs that a demo runs, each in a separate process. A demo ends with the first program that ends,
 * or on a signal. It then stops all others and removes its temporary folder.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ConfigurationError } from '../program/environment/environment.ts';

const EXECUTABLE = path.join(import.meta.dirname, '../bin/cover-catalogue');
const READY_DEADLINE_MS = 45_000;
const STOP_DEADLINE_MS = 12_000;

const children = new Map<ChildProcess, string>();
let isStopping = false;

/** Runs a demo until it is stopped. An error ends it. */
export function runDemo(main: () => Promise<void>): void {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => stop(0));
  main().catch((error: Error) => {
    report(error.message);
    return stop(error instanceof ConfigurationError ? 2 : 1);
  });
}

/** Creates a folder that is removed when the demo ends. */
export function makeDemoFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'cover-catalogue-demo-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Starts `cover-catalogue COMMAND`. */
export function startCommand(
  name: string,
  command: string,
  environment: NodeJS.ProcessEnv,
): ChildProcess {
  return startProgram(name, EXECUTABLE, [command], environment);
}

/** Starts a program that must run as long as the demo. */
export function startProgram(
  name: string,
  file: string,
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
): ChildProcess {
  const child = spawn(file, args, { env: environment, stdio: ['ignore', 'ignore', 'pipe'] });
  // Not the terminal itself, on which programs would draw their progress.
  child.stderr.pipe(process.stderr);
  children.set(child, name);
  child.once('error', (error) => {
    children.delete(child);
    report(`${name} cannot be started: ${error.message}`);
    void stop(1);
  });
  child.once('exit', (code, signal) => {
    children.delete(child);
    if (isStopping) return;
    report(`${name} ended with ${signal ?? code}.`);
    void stop(code === 2 ? 2 : 1);
  });
  return child;
}

/**
 * Runs `cover-catalogue COMMAND` to its end.
 * @returns what it printed on stdout
 * @throws Error with its messages if it fails
 */
export function runCommand(
  command: string,
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<string> {
  const child = spawn(EXECUTABLE, [command, ...args], {
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  let messages = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    printed += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    messages += text;
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve(printed.trim());
      else reject(new Error(`cover-catalogue ${command} ended with ${code}: ${messages.trim()}`));
    });
  });
}

/** Waits until an address answers with a status below 300. */
export async function waitUntilReady(address: string): Promise<void> {
  const deadline = Date.now() + READY_DEADLINE_MS;
  while (!isStopping) {
    const reply = await fetch(address).catch(() => undefined);
    if (reply?.ok) return;
    if (Date.now() > deadline) throw new Error(`${address} did not become ready.`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  // The demo is stopping, so its caller must not continue.
  await new Promise(() => {});
}

/** A port on which nothing listens. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function stop(code: number): Promise<void> {
  if (isStopping) return;
  isStopping = true;
  const gone = [...children.keys()].map(
    (child) => new Promise((resolve) => child.once('exit', resolve)),
  );
  for (const child of children.keys()) child.kill('SIGTERM');
  setTimeout(() => {
    for (const child of children.keys()) child.kill('SIGKILL');
  }, STOP_DEADLINE_MS).unref();
  await Promise.all(gone);
  process.exit(code);
}

export function report(text: string): void {
  process.stderr.write(`${text}\n`);
}
