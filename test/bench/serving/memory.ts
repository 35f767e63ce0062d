/** Samples the resident memory of a process, by kind. */
import { readFileSync, writeFileSync } from 'node:fs';
import { clock } from './load-process.ts';

const INTERVAL_MS = 20;
/** Resets the peak resident memory when written to clear_refs, see proc(5). */
const RESET_HIGHEST = '5';

/** In megabytes of 10^6 bytes. */
export interface Memory {
  readonly resident: number;
  /** Heaps, stacks, and the index of a generation. */
  readonly anonymous: number;
  /** Mapped files: the program itself. */
  readonly file: number;
  readonly shared: number;
  /** The peak of resident memory, or the peak since {@link forgetHighest}. */
  readonly highest: number;
}

export interface MemorySamples {
  /** The samples between two times of {@link clock}. */
  between(from: number, to: number): Memory[];
  stop(): void;
}

export function readMemory(pid: number): Memory {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const of = (name: string) => {
    const kibibytes = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1];
    if (kibibytes === undefined) throw new Error(`The process ${pid} has no ${name}.`);
    return (Number(kibibytes) * 1024) / 1e6;
  };
  return {
    resident: of('VmRSS'),
    anonymous: of('RssAnon'),
    file: of('RssFile'),
    shared: of('RssShmem'),
    highest: of('VmHWM'),
  };
}

export function forgetHighest(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, RESET_HIGHEST);
}

export function watchMemory(pid: number): MemorySamples {
  const found: { at: number; memory: Memory }[] = [];
  const timer = setInterval(() => {
    try {
      found.push({ at: clock(), memory: readMemory(pid) });
    } catch {
      // The process has ended, which the benchmark notices elsewhere.
      clearInterval(timer);
    }
  }, INTERVAL_MS);
  return {
    between: (from, to) =>
      found.filter(({ at }) => at >= from && at < to).map(({ memory }) => memory),
    stop: () => clearInterval(timer),
  };
}
