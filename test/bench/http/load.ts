/** Puts load on a server with wrk, and measures the processor time of the server. */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { busySeconds, type Core, cpuSeconds } from './process.ts';

const run = promisify(execFile);
/** How long to wait for a server to finish the requests that wrk left behind. */
const LONGEST_TAIL_MS = 30_000;
const IDLE_CHECK_MS = 100;
/** A server that uses at most this much processor time per check is idle. */
const IDLE_SECONDS = 0.015;

export interface Load {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** A file of paths to request in turn instead of the path of the url, and the index to start at. */
  readonly list?: { readonly file: string; readonly start: number } | undefined;
  readonly connections: number;
  readonly seconds: number;
  readonly core: Core;
  /** The core of the server. */
  readonly serverCore: Core;
}

export interface Measurement {
  readonly requests: number;
  readonly perSecond: number;
  /** Processor time of the server per request, in microseconds. */
  readonly cpu: number;
  /** The share of one core that the server used, 0 to 1. */
  readonly busy: number;
  /** The share of the server's cores that everything else used, 0 to their number. */
  readonly others: number;
  /** The latency that wrk measured with all connections busy, in milliseconds. */
  readonly p99: number;
  /** Responses with a status of 400 or more. */
  readonly refused: number;
}

/**
 * @param pids of the server's processes; their children are included
 * @throws Error if a connection broke or a request timed out
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
  if (line === undefined) throw new Error(`wrk printed no result for ${url}:\n${stdout}`);
  const result = JSON.parse(line);
  if (result.failed > 0) throw new Error(`${url} failed under load: ${line}`);
  return {
    requests: result.requests,
    perSecond: result.requests / (result.microseconds / 1e6),
    // At the end, every connection had one more request under way that the server also answered.
    cpu: (spent * 1e6) / (result.requests + connections),
    busy: Math.min(1, spent / (result.microseconds / 1e6)),
    others,
    p99: result.p99 / 1000,
    refused: result.statuses,
  };
}

/** Waits until a server has finished queued work: slow queries outlive their connections. */
async function settle(pids: readonly number[]): Promise<void> {
  const started = performance.now();
  for (let before = cpuSeconds(pids); performance.now() - started < LONGEST_TAIL_MS; ) {
    await sleep(IDLE_CHECK_MS);
    const now = cpuSeconds(pids);
    if (now - before <= IDLE_SECONDS) return;
    before = now;
  }
  throw new Error('A server was still working half a minute after the load had ended.');
}
