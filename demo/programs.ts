/**
 * What a demo runs: programs in separate processes, and commands in its own. A demo ends with the first
 * program that ends, or on a signal. It then stops all others and removes its temporary folder.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ConfigurationError } from '../lib/program/environment/environment.ts';
import { messageOf } from '../lib/program/failure.ts';
import type { Invocation } from '../lib/program/invocation.ts';

const EXECUTABLE = path.join(import.meta.dirname, '../bin/cover-catalogue');
const READY_DEADLINE_MS = 45_000;
const STOP_DEADLINE_MS = 12_000;

const children = new Set<ChildProcess>();
let isStopping = false;

/** Runs a demo until a signal or an error ends it, in a folder that is removed then. */
export async function runDemo(main: (folder: string) => Promise<void>): Promise<void> {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => stop(0));
  try {
    const folder = mkdtempSync(path.join(tmpdir(), 'cover-catalogue-demo-'));
    process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
    await main(folder);
  } catch (error) {
    report(messageOf(error));
    await stop(error instanceof ConfigurationError ? 2 : 1);
  }
}

/** Starts a program that must run as long as the demo: `cover-catalogue NAME` unless there is a `file`. */
export function startProgram(
  name: string,
  environment: NodeJS.ProcessEnv,
  file = EXECUTABLE,
  args: readonly string[] = [name],
): void {
  const child = spawn(file, args, { env: environment, stdio: ['ignore', 'ignore', 'pipe'] });
  // Not the terminal itself, on which programs would draw their progress.
  child.stderr.pipe(process.stderr);
  children.add(child);
  const ended = (how: string, code: number) => {
    children.delete(child);
    if (isStopping) return;
    report(`${name} ${how}.`);
    void stop(code);
  };
  child.once('error', ({ message }) => ended(`cannot be started: ${message}`, 1));
  child.once('exit', (code, signal) => ended(`ended with ${signal ?? code}`, code === 2 ? 2 : 1));
}

/**
 * Does what a command does, without the start of another program.
 * @returns what it prints on stdout
 * @throws Error with its messages if it fails
 */
export async function runCommand(
  command: (invocation: Invocation) => Promise<number>,
  words: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<string> {
  let printed = '';
  let messages = '';
  const code = await command({
    words,
    variables: () => environment,
    stdout: { write: (text) => (printed += text) },
    stderr: { write: (text) => (messages += text) },
  });
  if (code !== 0) throw new Error(messages.trim());
  return printed.trim();
}

/** Waits until an address answers with a status below 300. */
export async function waitUntilReady(address: string): Promise<void> {
  const signal = AbortSignal.timeout(READY_DEADLINE_MS);
  while (!(await fetch(address, { signal }).catch(() => undefined))?.ok) {
    // While the demo is stopping, its caller must not continue.
    if (isStopping) await new Promise(() => {});
    if (signal.aborted) throw new Error(`${address} did not become ready.`);
    await pause(100);
  }
}

/**
 * @returns a port on which nothing listens: the one that a variable wants, or any
 * @throws ConfigurationError if something listens on the port that is wanted
 */
export async function freePort(wanted = 0, variable = '', host = '127.0.0.1'): Promise<number> {
  const server = createServer().listen(wanted, host);
  await once(server, 'listening').catch(({ message }: Error) => {
    const fix = `Choose another port: ${variable}=${wanted + 1000} npm run demo`;
    throw new ConfigurationError(`${message}. ${fix}`);
  });
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function stop(code: number): Promise<void> {
  if (isStopping) return;
  isStopping = true;
  const ends = [...children].map((child) => once(child, 'exit'));
  for (const child of children) child.kill('SIGTERM');
  setTimeout(() => {
    for (const child of children) child.kill('SIGKILL');
  }, STOP_DEADLINE_MS).unref();
  await Promise.all(ends);
  process.exit(code);
}

export function report(text: string): void {
  process.stderr.write(`${text}\n`);
}
