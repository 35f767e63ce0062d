/**
 * Processes for tests and benchmarks: the Node flags of the product's programs, the time that a
 * command takes, and servers that never outlive the process that started them.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Readable } from 'node:stream';

const EXECUTABLE = path.join(import.meta.dirname, '../../bin/cover-catalogue');
/** Ctrl-C reaches the whole process group, so the shell ignores it in order to end the server. */
const TIE = `trap "" INT; "$@" </dev/null >&2 & server=$!; echo $server
cat >/dev/null; kill -$SIGNAL $server 2>/dev/null; wait`;

/** The flags of Node that `cover-catalogue` gives a program, such as "generator/cli/main.ts". */
export function flagsOf(program: string): string[] {
  const lines = readFileSync(EXECUTABLE, 'utf8').split('\n');
  const line = lines.find((text) => text.includes(` program=${program} `)) ?? '';
  return [/node_flags=(\S+)/.exec(line)?.[1] ?? []].flat();
}

/** Runs a command and discards its output. @returns seconds */
export function timeOf(command: string, args: readonly string[]): Promise<number> {
  const started = performance.now();
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => {
      if (code === 0) resolve((performance.now() - started) / 1000);
      else reject(new Error(`${command} ended with ${code}.`));
    });
  });
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

export interface TiedServer {
  readonly pid: number;
  /** Its stdout and stderr in one stream; null unless `output` is "pipe". */
  readonly output: Readable | null;
  /** Ends it and waits for its end. */
  stop(): Promise<void>;
}

/**
 * Starts a server that ends when this process ends, even when it is killed: a shell ends the server
 * once the shell's stdin closes.
 * @param output where its stdout and stderr go: nowhere, to a stream, or to an open file
 * @param signal to end it with
 */
export async function startTied(
  command: readonly string[],
  {
    output = 'ignore',
    signal = 'TERM',
    environment = {},
  }: {
    output?: 'ignore' | 'pipe' | number;
    signal?: 'TERM' | 'KILL';
    environment?: Readonly<Record<string, string>>;
  } = {},
): Promise<TiedServer> {
  const child = spawn('sh', ['-c', TIE.replace('$SIGNAL', signal), 'sh', ...command], {
    stdio: ['pipe', 'pipe', output],
    // Debian installs servers in /usr/sbin, which is not on the PATH of other users than root.
    env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin`, ...environment },
  });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  const pid = await new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.stdout?.once('data', (line) => resolve(Number(String(line))));
  });
  return {
    pid,
    output: child.stderr,
    async stop() {
      child.stdin?.end();
      await exited;
    },
  };
}
