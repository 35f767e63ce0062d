/** Load by wrk, and what a server spent on it. */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { busySeconds, type Core, cpuSeconds } from './process.ts';

const run = promisify(execFile);
/** A server that still works on what wrk left behind is waited for this long. */
const LONGEST_TAIL_MS = 30_000;
const IDLE_CHECK_MS = 100;
/** At most this much processor time in that while is idleness, in seconds. */
const IDLE_SECONDS = 0.015;

export interface Load {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** A file of paths to ask for in turn instead of the url's own, and the place to begin at. */
  readonly list?: { readonly file: string; readonly start: number } | undefined;
  readonly connections: number;
  readonly seconds: number;
  readonly core: Core;
  /** Where the server runs. */
  readonly serverCore: Core;
}

export interface Measurement {
  readonly requests: number;
  readonly perSecond: number;
  /** Processor time of the server per request, in microseconds. */
  readonly cpu: number;
  /** How much of one core the server took, 0 to 1. */
  readonly busy: number;
  /** How much of the server's cores everything else on this machine took, 0 to their number. */
  readonly others: number;
  /** Latency in milliseconds, as wrk saw it with all connections busy. */
  readonly p99: number;
  /** Responses with a status of 400 or more. */
  readonly refused: number;
}

/**
 * @param pids of the server's processes; their children count too
 * @throws Error when a connection broke or a request timed out
 */
export async function measure(load: Load, pids: readonly number[]): Promise<Measurement> {
  const { url, headers, list, connections, seconds, core, serverCore } = load;
  const fields = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]);
  const before = cpuSeconds(pids);
  const started = performance.now();
  const busyBefore = busySeconds(serverCore);
  const { stdout } = await run(
    'taskset',
    [
      ...[
        '-c',
        String(core),
        'wrk',
        '-t1',
        `-c${connections}`,
        `-d${seconds}s`,
        '--timeout',
        '10s',
      ],
      ...['-s', path.join(import.meta.dirname, 'wrk.lua'), ...fields, url],
    ],
    {
      env: {
        PATH: process.env.PATH ?? '',
        ...(list === undefined ? {} : { LIST: list.file, START: String(list.start) }),
      },
    },
  );
  const busy = busySeconds(serverCore) - busyBefore - (cpuSeconds(pids) - before);
  const others = Math.max(0, busy) / ((performance.now() - started) / 1000);
  await settle(pids);
  const spent = cpuSeconds(pids) - before;
  const line = stdout.split('\n').find((text) => text.startsWith('{'));
  if (line === undefined) throw new Error(`wrk said nothing of ${url}:\n${stdout}`);
  const said = JSON.parse(line);
  if (said.failed > 0) throw new Error(`${url} failed under load: ${line}`);
  return {
    requests: said.requests,
    perSecond: said.requests / (said.microseconds / 1e6),
    // At the end every connection had one more under way, and the server did that work too.
    cpu: (spent * 1e6) / (said.requests + connections),
    busy: Math.min(1, spent / (said.microseconds / 1e6)),
    others,
    p99: said.p99 / 1000,
    refused: said.statuses,
  };
}

/** Waits until a server has done what was still queued: slow queries outlive their connections. */
async function settle(pids: readonly number[]): Promise<void> {
  const started = performance.now();
  for (let before = cpuSeconds(pids); performance.now() - started < LONGEST_TAIL_MS; ) {
    await sleep(IDLE_CHECK_MS);
    const now = cpuSeconds(pids);
    if (now - before <= IDLE_SECONDS) return;
    before = now;
  }
  throw new Error('A server went on working for half a minute after the load had ended.');
}
