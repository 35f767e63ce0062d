/** Puts load on a server with wrk, and measures the processor time of the server. */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { chooseCores, cpuSeconds } from './processes.ts';

const run = promisify(execFile);
/** How long a server may work on requests whose connections wrk has closed. */
const LONGEST_TAIL_MS = 30_000;
const IDLE_CHECK_MS = 100;
/** A server that uses at most this much processor time per check is idle. */
const IDLE_SECONDS = 0.015;

export interface Load {
  readonly url: string;
  readonly key: string;
  /** A file of paths to request in turn, and the index to start at. */
  readonly list: string;
  readonly first: number;
  readonly connections: number;
  readonly seconds: number;
}

/**
 * @param pids of the server's processes; their children are included
 * @returns the processor time per request in microseconds, and the 99th percentile of the latency in ms
 * @throws Error if a connection broke, or if not every response has a status below 400
 */
export async function measureLoad(
  { url, key, list, first, connections, seconds }: Load,
  pids: readonly number[],
): Promise<{ requests: number; cpu: number; perSecond: number; p99: number }> {
  const before = cpuSeconds(pids);
  const pinned = ['-c', String(chooseCores().load), 'wrk', '-t1', `-c${connections}`];
  const script = path.join(import.meta.dirname, 'wrk.lua');
  const { stdout } = await run(
    'taskset',
    [...pinned, `-d${seconds}s`, '--timeout=10s', '-s', script, '-H', `X-Api-Key: ${key}`, url],
    { env: { PATH: process.env.PATH, LIST: list, FIRST: String(first) } },
  );
  await settle(pids);
  const spent = cpuSeconds(pids) - before;
  const line = stdout.split('\n').find((text) => text.startsWith('{'));
  if (line === undefined) throw new Error(`wrk printed no result: ${stdout}`);
  const { requests, microseconds, p99, failed, refused } = JSON.parse(line);
  if (failed > 0 || refused > 0 || requests === 0) {
    throw new Error(`${failed} failed and ${refused} refused of ${requests} requests`);
  }
  return {
    requests,
    // At the end, every connection had one more request under way that the server also answered.
    cpu: (spent * 1e6) / (requests + connections),
    perSecond: requests / (microseconds / 1e6),
    p99: p99 / 1000,
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
  throw new Error('it was still working half a minute after the load had ended');
}
