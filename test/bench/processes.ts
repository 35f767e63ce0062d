/** The cores, the processor time and the memory of processes, from /proc. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** The unit of /proc/…/stat: the kernel's USER_HZ, which is 100 wherever Node runs on Linux. */
const TICKS_PER_SECOND = 100;

/** User and system time of processes and their descendants so far, in seconds. */
export function cpuSeconds(pids: readonly number[]): number {
  // The times of each process, and of its children that have ended.
  return secondsOf(pids.flatMap(withChildren), [14, 15, 16, 17]);
}

/** User and system time of the descendants of this process that have ended, in seconds. */
export function endedCpuSeconds(): number {
  return secondsOf([process.pid], [16, 17]);
}

/** @param fields their numbers in proc(5) */
function secondsOf(pids: readonly number[], fields: readonly number[]): number {
  const ticks = pids.flatMap((pid) => {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // After the name, which may contain anything, the first field is field 3.
    const values = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields.map((field) => Number(values[field - 3]));
  });
  return ticks.reduce((sum, value) => sum + value, 0) / TICKS_PER_SECOND;
}

/**
 * The resident memory of processes and their descendants, in megabytes of 10^6 bytes.
 * @param kind now, or the highest so far
 */
export function memoryOf(pids: readonly number[], kind: 'VmRSS' | 'VmHWM'): number {
  const kibibytes = pids.flatMap(withChildren).map((pid) => {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(new RegExp(`^${kind}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]);
  });
  return (kibibytes.reduce((sum, value) => sum + value, 0) * 1024) / 1e6;
}

function withChildren(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return [pid, ...(text === '' ? [] : text.split(' ').map(Number).flatMap(withChildren))];
}

export interface Cores {
  readonly server: number;
  readonly load: number;
  readonly all: readonly number[];
}

/** A core for the servers, another one for the load, and all that this process may use. */
export function chooseCores(): Cores {
  const status = readFileSync('/proc/self/status', 'utf8');
  const list = /^Cpus_allowed_list:\s*(\S+)/m.exec(status)?.[1] ?? '0';
  const all = list.split(',').flatMap((range) => {
    const [from = 0, to = from] = range.split('-').map(Number);
    return Array.from({ length: to - from + 1 }, (_, i) => from + i);
  });
  const [server, load] = all;
  if (load === undefined) throw new Error('Two cores are needed, one for servers, one for load.');
  return { server, load, all };
}

/** Moves all threads of a process. Threads that it starts later inherit the cores. */
export function moveTo(cores: readonly number[], pid: number): void {
  execFileSync('taskset', ['-a', '-c', '-p', cores.join(), String(pid)]);
}
