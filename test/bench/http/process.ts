/**
 * Starts the servers of the benchmark on their cores, ends them, also when the benchmark itself is
 * killed, and measures their processor time, including that of their children.
 */
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive, startTied, type TiedServer } from '../../support/processes.ts';
import { listens } from '../../support/servers/ports.ts';

const START_SECONDS = 60;
/** The unit of /proc/…/stat: the kernel's USER_HZ, which is 100 wherever Node runs on Linux. */
const TICKS_PER_SECOND = 100;

/** The core, or the cores, on which a process may run. */
export type Core = number | readonly number[];

/**
 * Starts a server and waits until it listens.
 * @param logFile the file for its output
 * @throws Error with the end of its log if it does not start
 */
export async function startServer(
  command: readonly string[],
  {
    core,
    port,
    logFile,
    environment = {},
  }: { core: Core; port: number; logFile: string; environment?: Record<string, string> },
): Promise<TiedServer> {
  const log = openSync(logFile, 'w');
  const server = await startTied(['taskset', '-c', String(core), ...command], {
    output: log,
    environment,
  });
  closeSync(log);
  const started = performance.now();
  while (!(await listens(port))) {
    if (!isAlive(server.pid) || performance.now() - started > START_SECONDS * 1000) {
      await server.stop();
      const end = readFileSync(logFile, 'utf8').slice(-2000);
      throw new Error(`${command.slice(0, 3).join(' ')} did not start:\n${end}`);
    }
    await sleep(50);
  }
  return server;
}

/** User and system time of processes and their descendants so far, in seconds. */
export function cpuSeconds(pids: readonly number[]): number {
  // The times of each process, and of its children that have ended.
  const ticks = pids.flatMap(withChildren).flatMap((pid) => ticksOf(pid, [14, 15, 16, 17]));
  return ticks.reduce((sum, value) => sum + value, 0) / TICKS_PER_SECOND;
}

/** User and system time of the descendants of this process that have ended, in seconds. */
export function endedCpuSeconds(): number {
  const [user, system] = ticksOf(process.pid, [16, 17]);
  return (user + system) / TICKS_PER_SECOND;
}

/** @param fields their numbers in proc(5) */
function ticksOf(pid: number, fields: readonly number[]): number[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // After the name, which may contain anything, the first field is field 3.
  const values = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields.map((field) => Number(values[field - 3]));
}

/** How long a core was not idle so far, in seconds; for several cores the sum. */
export function busySeconds(core: Core): number {
  if (typeof core !== 'number') return core.reduce((sum, one) => sum + busySeconds(one), 0);
  const line = readFileSync('/proc/stat', 'utf8')
    .split('\n')
    .find((text) => text.startsWith(`cpu${core} `));
  // user, nice, system, idle, iowait, irq, softirq, steal
  const ticks = (line ?? '').split(' ').slice(1, 9).map(Number);
  const total = ticks.reduce((sum, value) => sum + value, 0);
  return (total - (ticks[3] ?? 0) - (ticks[4] ?? 0)) / TICKS_PER_SECOND;
}

function withChildren(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return [pid, ...(text === '' ? [] : text.split(' ').map(Number).flatMap(withChildren))];
}

export interface Cores {
  readonly server: number;
  readonly load: number;
}

/** Chooses a core for the servers and another one for the load. */
export function chooseCores(): Cores {
  const status = readFileSync('/proc/self/status', 'utf8');
  const list = /^Cpus_allowed_list:\s*(\S+)/m.exec(status)?.[1] ?? '0';
  const cores = list.split(',').flatMap((range) => {
    const [from = 0, to = from] = range.split('-').map(Number);
    return Array.from({ length: to - from + 1 }, (_, i) => from + i);
  });
  const [server, load] = cores;
  if (server === undefined || load === undefined) {
    throw new Error('Two cores are needed, one for the server and one for the load.');
  }
  return { server, load };
}
