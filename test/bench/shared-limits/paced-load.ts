/**
 * Puts a fixed load on a server with h2load: several processes, each with its own key and connections,
 * so that requests come one by one and not all in the same millisecond.
 */
import { execFile } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { type Core, cpuSeconds } from '../http/process.ts';

const run = promisify(execFile);
const WARM_UP_SECONDS = 1;

export interface PacedLoad {
  readonly url: string;
  readonly keys: readonly string[];
  /** Over all processes. */
  readonly connections: number;
  readonly perSecond: number;
  readonly seconds: number;
  readonly core: Core;
  readonly folder: string;
}

export interface PacedMeasurement {
  readonly perSecond: number;
  /** Processor time per request, in microseconds: of the server, and of Redis. */
  readonly serverCpu: number;
  readonly storeCpu: number;
  /** Latency in milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

/** @throws Error if a request failed */
export async function measurePaced(
  load: PacedLoad,
  serverPid: number,
  storePid: number,
): Promise<PacedMeasurement> {
  const { url, keys, core, seconds, folder } = load;
  const clients = Math.round(load.connections / keys.length);
  const rate = String(Math.round(load.perSecond / keys.length / clients));
  const logs = keys.map((_, i) => path.join(folder, `h2load-${i}.log`));
  for (const log of logs) rmSync(log, { force: true });
  const before = [cpuSeconds([serverPid]), cpuSeconds([storePid])];
  await Promise.all(
    keys.map((key, i) =>
      run('taskset', [
        ...['-c', String(core), 'h2load', '--h1', '-t1', '-c', String(clients), '--rps', rate],
        ...['-D', String(seconds), `--warm-up-time=${WARM_UP_SECONDS}`, '--log-file', logs[i]],
        ...['-H', `X-Api-Key: ${key}`, url],
      ]),
    ),
  );
  const spent = [cpuSeconds([serverPid]) - before[0], cpuSeconds([storePid]) - before[1]];
  const latencies: number[] = [];
  for (const log of logs) {
    for (const line of readFileSync(log, 'utf8').trimEnd().split('\n')) {
      const [, status, microseconds] = line.split('\t');
      if (status !== '200') throw new Error(`${url} answered ${status} under load.`);
      latencies.push(Number(microseconds) / 1000);
    }
  }
  latencies.sort((a, b) => a - b);
  const at = (share: number) => latencies[Math.floor(latencies.length * share)];
  // The log leaves the warm-up out, in which the same rate was requested.
  const requests = latencies.length * ((seconds + WARM_UP_SECONDS) / seconds);
  return {
    perSecond: latencies.length / seconds,
    serverCpu: (spent[0] * 1e6) / requests,
    storeCpu: (spent[1] * 1e6) / requests,
    p50: at(0.5),
    p99: at(0.99),
  };
}
