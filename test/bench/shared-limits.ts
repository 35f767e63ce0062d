/**
 * The part about shared limits: what it costs to ask Redis about every request. Compares the product,
 * @fastify/rate-limit and rate-limiter-flexible, each with its limits in the process and in Redis. The
 * server runs on one core; Redis and the load share the other.
 */
import path from 'node:path';
import { makeKey } from '../../format/api-key.ts';
import { flagsOf } from '../support/processes.ts';
import { freePort } from '../support/servers/ports.ts';
import { startRedis } from '../support/servers/redis.ts';
import { measure } from './http/load.ts';
import { chooseCores, startServer } from './http/process.ts';
import { inNewFolder, median, type PartOptions, table } from './part.ts';
import { prepareSample } from './prepare-sample.ts';
import { measurePaced, type PacedMeasurement } from './shared-limits/paced-load.ts';

const ROOT = path.join(import.meta.dirname, '../..');
const TARGET = '/api/v1/games/snes/chrono-trigger';
const CONNECTIONS = 64;
const PER_SECOND = 10_000;
const KEYS = 4;
const LIMIT = 1_000_000;
const ENGINES = {
  product: 'this product',
  fastify: 'fastify + @fastify/rate-limit',
  flexible: 'fastify + rate-limiter-flexible',
} as const;
type Engine = keyof typeof ENGINES;

interface Candidate {
  readonly engine: Engine;
  readonly isShared: boolean;
  readonly url: string;
  readonly pid: number;
  readonly paced: PacedMeasurement[];
  /** Microseconds of processor time per request when all connections are busy: server, and Redis. */
  readonly full: { cpu: number; storeCpu: number; perSecond: number }[];
}

export async function run({ rounds, seconds, report }: PartOptions): Promise<string> {
  const cores = chooseCores();
  return inNewFolder(async (folder, atEnd) => {
    const keys = Array.from({ length: KEYS }, makeKey);
    const snapshotsDir = await prepareSample(folder, keys, LIMIT);
    const redis = await startRedis();
    atEnd(redis.stop);
    const { candidates, stop } = await startAll({
      ...{ folder, keys, snapshotsDir, core: cores.server, redisUrl: redis.url },
    });
    atEnd(stop);
    for (let round = 0; round <= rounds; round++) {
      for (const candidate of candidates) {
        const { url, pid } = candidate;
        const load = { url: url + TARGET, connections: CONNECTIONS, core: cores.load };
        const lasts = round === 0 ? 1 : seconds;
        const paced = await measurePaced(
          { ...load, keys, perSecond: PER_SECOND, seconds: lasts, folder },
          pid,
          redis.pid,
        );
        const before = await usedBy(redis);
        const full = await measure(
          {
            ...load,
            ...{ headers: { 'X-Api-Key': keys[0] }, seconds: lasts, serverCore: cores.server },
          },
          [pid],
        );
        const storeCpu = (((await usedBy(redis)) - before) * 1e6) / full.requests;
        // The first round only warms up.
        if (round === 0) continue;
        candidate.paced.push(paced);
        candidate.full.push({ cpu: full.cpu, storeCpu, perSecond: full.perSecond });
        report(
          `round ${round}: ${nameOf(candidate)}: ${paced.serverCpu.toFixed(1)} µs, p50 ${paced.p50.toFixed(2)} ms, p99 ${paced.p99.toFixed(2)} ms; at full load ${full.cpu.toFixed(1)} µs`,
        );
      }
    }
    return `${rounds} rounds of ${seconds} s each, in turn, after a warm-up. ${CONNECTIONS} kept-alive connections with ${KEYS} keys request one game; the server has one core, Redis and the load share the other. At the fixed load, four processes of h2load send ${PER_SECOND} requests a second; at the full load, wrk sends as many as are answered, with one key. CPU is user and system time per request.

### Ratios

${ratios(candidates)}

### Figures

${figures(candidates)}`;
  });
}

interface StartOptions {
  readonly folder: string;
  readonly keys: readonly string[];
  readonly snapshotsDir: string;
  readonly core: number;
  readonly redisUrl: string;
}

async function startAll({ folder, keys, snapshotsDir, core, redisUrl }: StartOptions) {
  const candidates: Candidate[] = [];
  const stops: (() => Promise<void>)[] = [];
  let body = '';
  for (const engine of Object.keys(ENGINES) as Engine[]) {
    for (const isShared of [false, true]) {
      const port = await freePort();
      const program =
        engine === 'product' ? 'proxy/main.ts' : 'test/bench/shared-limits/alternative.mjs';
      const command = [process.execPath, ...flagsOf('proxy/main.ts'), path.join(ROOT, program)];
      const started = await startServer(command, {
        ...{ core, port, logFile: path.join(folder, `${engine}-${isShared}.log`) },
        environment: {
          ...{ NODE_ENV: 'production', SNAPSHOTS_DIR: snapshotsDir, PORT: String(port) },
          ...{ ADMIN_PORT: '0', LIMITS_URL: isShared ? redisUrl : '' },
          ...{ BENCH_ENGINE: engine, BENCH_KEYS: keys.join(','), BENCH_BODY: body },
        },
      });
      stops.push(started.stop);
      const url = `http://127.0.0.1:${port}`;
      const reply = await fetch(url + TARGET, { headers: { 'X-Api-Key': keys[0] } });
      const bytes = Buffer.from(await reply.arrayBuffer());
      if (reply.status !== 200) throw new Error(`${engine} answers ${reply.status}.`);
      body ||= bytes.toString('base64');
      candidates.push({ engine, isShared, url, pid: started.pid, paced: [], full: [] });
    }
  }
  const stop = async () => {
    for (const end of stops) await end();
  };
  return { candidates, stop };
}

/** The processor time of Redis so far, in seconds. */
async function usedBy({ client }: Awaited<ReturnType<typeof startRedis>>): Promise<number> {
  const info = await client.info('cpu');
  const field = (name: string) => Number(new RegExp(`^${name}:(.*)$`, 'm').exec(info)?.[1]);
  return field('used_cpu_user') + field('used_cpu_sys');
}

function nameOf({ engine, isShared }: Candidate): string {
  return `${ENGINES[engine]}, limits in ${isShared ? 'Redis' : 'the process'}`;
}

function ratios(candidates: readonly Candidate[]): string {
  const rows = (Object.keys(ENGINES) as Engine[]).map((engine) => {
    const [local, shared] = [false, true].map((isShared) =>
      candidates.find((each) => each.engine === engine && each.isShared === isShared),
    ) as [Candidate, Candidate];
    const each = (value: (candidate: Candidate, round: number) => number) =>
      local.paced.map((_, round) => [value(local, round), value(shared, round)] as const);
    const ratio = (pairs: readonly (readonly [number, number])[]) =>
      median(pairs.map(([before, after]) => after / before)).toFixed(2);
    const added = (pairs: readonly (readonly [number, number])[]) =>
      median(pairs.map(([before, after]) => after - before)).toFixed(2);
    return [
      ENGINES[engine],
      ratio(each(({ paced }, round) => paced[round].serverCpu)),
      ratio(each(({ full }, round) => full[round].cpu)),
      added(each(({ paced }, round) => paced[round].p50)),
      added(each(({ paced }, round) => paced[round].p99)),
    ];
  });
  const head = [
    ...['limits in Redis ÷ in the process', `CPU at ${PER_SECOND}/s`, 'CPU at full load'],
    ...['added p50, ms', 'added p99, ms'],
  ];
  return table(head, rows);
}

function figures(candidates: readonly Candidate[]): string {
  const rows = candidates.map((candidate) => {
    const { paced, full } = candidate;
    const of = (value: (measurement: PacedMeasurement) => number, digits: number) =>
      median(paced.map(value)).toFixed(digits);
    return [
      nameOf(candidate),
      of(({ serverCpu }) => serverCpu, 1),
      of(({ storeCpu }) => storeCpu, 1),
      of(({ p50 }) => p50, 2),
      of(({ p99 }) => p99, 2),
      of(({ perSecond }) => perSecond, 0),
      median(full.map(({ cpu }) => cpu)).toFixed(1),
      median(full.map(({ storeCpu }) => storeCpu)).toFixed(1),
      median(full.map(({ perSecond }) => perSecond)).toFixed(0),
    ];
  });
  const head = [
    ...['', `CPU µs at ${PER_SECOND}/s`, 'Redis µs', 'p50 ms', 'p99 ms', 'requests/s'],
    ...['CPU µs at full load', 'Redis µs', 'requests/s'],
  ];
  return table(head, rows);
}
