/**
 * Processes for tests and benchmarks: the Node flags of the product's programs, what restricts them or
 * changes their timers, and servers that never outlive the process that started them.
 */
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import path from 'node:path';
import { makeLog } from './log.ts';

/** Texts by their names, such as environment variables or header fields. */
export type Texts = Readonly<Record<string, string>>;

const ROOT = path.join(import.meta.dirname, '../..');
const EXECUTABLE = path.join(ROOT, 'bin/cover-catalogue');
/**
 * Where Node keeps what it has compiled, as in that executable. A program then starts in half the time.
 */
export const COMPILE_CACHE = {
  NODE_COMPILE_CACHE: path.join(ROOT, 'node_modules/.cache/compiled'),
} as const;
/**
 * Ctrl-C reaches the whole process group, so the shell ignores it in order to end the server. The shell leaves
 * the output to the server, so that its end shows that the server has ended.
 */
const TIE = `trap "" INT; "$@" </dev/null >&2 & server=$!; echo $server
exec 2>/dev/null; cat >/dev/null; kill -$SIGNAL $server 2>/dev/null; wait`;

/**
 * The command line that starts a program with Node, as `cover-catalogue` does.
 * @param program a command of the product, such as "proxy", or a file, such as "demo/main.ts"
 */
export function commandLine(program: string): [string, ...string[]] {
  if (program.includes('/')) return [process.execPath, path.join(ROOT, program)];
  const lines = readFileSync(EXECUTABLE, 'utf8').split('\n');
  const line = lines.find((text) => text.startsWith(`  ${program}) `)) ?? '';
  const [, quoted, single] = /node_flags=(?:'([^']*)'|(\S+))/.exec(line) ?? [];
  const flags = (quoted ?? single)?.split(' ') ?? [];
  return [process.execPath, ...flags, path.join(ROOT, 'cli/main.ts'), program];
}

const DENIED = '-dac_override,-dac_read_search';
/**
 * The beginning of a command that runs as a user to whom file permissions apply: root may read and write
 * everything, unless it drops these capabilities.
 */
export const UNPRIVILEGED: readonly string[] =
  process.getuid?.() === 0 ? ['setpriv', `--inh-caps=${DENIED}`, `--bounding-set=${DENIED}`] : [];

/** The open files of a process in a folder, once for each descriptor. */
export function openFilesIn(folder: string, pid: number | 'self' = 'self'): string[] {
  const descriptors = `/proc/${pid}/fd`;
  const files = readdirSync(descriptors).flatMap((name) => {
    try {
      return readlinkSync(path.join(descriptors, name));
    } catch {
      // It was closed after the listing.
      return [];
    }
  });
  return files.filter((file) => file.startsWith(`${folder}/`));
}

/** The resident memory of a process. */
export function residentMegabytes(pid: number | undefined): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}

export interface TiedServer {
  readonly pid: number;
  /** Ends it and waits for its end. */
  stop(): Promise<void>;
}

interface TiedOptions {
  /** To end it with. */
  readonly signal?: 'TERM' | 'KILL';
  readonly environment?: Texts;
}

/**
 * Starts a server that ends when this process ends, even when it is killed: a shell ends the server
 * once the shell's stdin closes.
 */
export async function startTied(
  command: readonly string[],
  options: TiedOptions = {},
): Promise<TiedServer> {
  return spawnTied(command, options, 'ignore');
}

/**
 * Starts such a server, and waits until it prints that it is ready.
 * @returns also the line with that text, and a function that gives all that it has printed
 */
export async function startTiedUntil(
  ready: string,
  command: readonly string[],
  options: TiedOptions = {},
): Promise<TiedServer & { readonly line: string; printed(): string }> {
  const { output, ...server } = await spawnTied(command, options, 'pipe');
  const log = makeLog();
  output?.setEncoding('utf8').on('data', log.write);
  output?.once('close', () => log.end(`${command[0]} ended`));
  return { ...server, line: await log.logged(ready), printed: log.text };
}

async function spawnTied(
  command: readonly string[],
  { signal = 'TERM', environment = {} }: TiedOptions,
  output: 'ignore' | 'pipe',
) {
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
