/**
 * The part about the access log: what it adds to the processor time of a request. With BENCH_BASELINE,
 * the path of a checkout of an earlier version, it also measures that version, which shows what request
 * ids and metrics cost.
 */
import { statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { makeKey } from '../../format/api-key.ts';
import { flagsOf } from '../support/processes.ts';
import { freePort } from '../support/servers/ports.ts';
import { measure } from './http/load.ts';
import { chooseCores, startServer } from './http/process.ts';
import { inNewFolder, median, type PartOptions, table } from './part.ts';
import { prepareSample } from './prepare-sample.ts';

const ROOT = path.join(import.meta.dirname, '../..');
const TARGET = '/api/v1/games/snes/chrono-trigger';
const CONNECTIONS = 64;
const LIMIT = '1000000';
const SETTINGS = ['off', 'errors', '1/100', 'all'] as const;
/** Goals for the processor time, as a multiple of that with off; of off, that of the earlier version. */
const GOALS: Readonly<Record<string, number>> = { off: 1.02, all: 1.5 };

interface Candidate {
  readonly name: string;
  readonly url: string;
  readonly pid: number;
  readonly logFile: string;
  /** Microseconds of processor time per request, with a key and without one. */
  readonly found: { readonly keyed: number[]; readonly keyless: number[] };
}

export async function run({ rounds, seconds, report }: PartOptions): Promise<string> {
  const cores = chooseCores();
  return inNewFolder(async (folder, atEnd) => {
    const key = makeKey();
    const snapshotsDir = await prepareSample(folder, [key], Number(LIMIT));
    const baseline = process.env.BENCH_BASELINE;
    const candidates: Candidate[] = [];
    for (const [name, root] of [
      ...(baseline === undefined ? [] : [['the earlier version', baseline] as const]),
      ...SETTINGS.map((setting) => [setting, ROOT] as const),
    ]) {
      const started = await start({ name, root, folder, snapshotsDir, core: cores.server });
      atEnd(started.stop);
      candidates.push(started);
    }
    let logged = 0;
    for (let round = 0; round <= rounds; round++) {
      for (const { name, url, pid, found, logFile } of candidates) {
        const load = {
          ...{ url: url + TARGET, connections: CONNECTIONS, seconds: round === 0 ? 1 : seconds },
          ...{ core: cores.load, serverCore: cores.server },
        };
        const keyed = await measure({ ...load, headers: { 'X-Api-Key': key } }, [pid]);
        const keyless = await measure({ ...load, headers: {} }, [pid]);
        if (name === 'all') {
          logged = statSync(logFile).size / (keyed.requests + keyless.requests);
          writeFileSync(logFile, '');
        }
        // The first round only warms up.
        if (round === 0) continue;
        found.keyed.push(keyed.cpu);
        found.keyless.push(keyless.cpu);
        report(
          `round ${round}: ${name}: ${keyed.cpu.toFixed(2)} µs, 401 ${keyless.cpu.toFixed(2)} µs`,
        );
      }
    }
    return `${rounds} rounds of ${seconds} s each, in turn, after a warm-up. ${CONNECTIONS} kept-alive connections request one game, once with a key and once without one, which gets 401. The proxy has one core with one thread, wrk the other. CPU is user and system time per request, including that of writing the log to a file; a line has about ${Math.round(logged)} bytes.

### Ratios

${ratios(candidates)}

### Figures

${figures(candidates)}`;
  });
}

interface StartOptions {
  readonly name: string;
  /** The checkout. */
  readonly root: string;
  readonly folder: string;
  readonly snapshotsDir: string;
  readonly core: number;
}

async function start({ name, root, folder, snapshotsDir, core }: StartOptions) {
  const port = await freePort();
  const logFile = path.join(folder, `access-${port}.log`);
  const { pid, stop } = await startServer(
    [process.execPath, ...flagsOf('proxy/main.ts'), path.join(root, 'proxy/main.ts')],
    {
      ...{ core, port, logFile: path.join(folder, `${port}.log`) },
      environment: {
        ...{ NODE_ENV: 'production', SNAPSHOTS_DIR: snapshotsDir, PORT: String(port) },
        ...{ ADMIN_PORT: '0', ADDRESS_RATE_LIMIT: LIMIT },
        ...(root === ROOT ? { ACCESS_LOG: name, ACCESS_LOG_FILE: logFile } : {}),
      },
    },
  );
  const url = `http://127.0.0.1:${port}`;
  return { name, url, pid, logFile, found: { keyed: [], keyless: [] }, stop };
}

function ratios(candidates: readonly Candidate[]): string {
  const [first] = candidates;
  const off = candidates.find(({ name }) => name === 'off');
  const rows = candidates.flatMap((candidate) => {
    const { name } = candidate;
    const base = name === 'off' ? first : off;
    if (base === undefined || base === candidate || candidate === first) return [];
    const ratio = (of: 'keyed' | 'keyless') =>
      median(candidate.found[of].map((cpu, round) => cpu / base.found[of][round]));
    const goal = GOALS[name];
    const isMet = goal === undefined || ratio('keyed') <= goal;
    return [
      [
        `${name} ÷ ${base.name}`,
        ...[ratio('keyed').toFixed(3), ratio('keyless').toFixed(3)],
        ...(goal === undefined ? ['', ''] : [`≤ ${goal}`, isMet ? 'yes' : '**no**']),
      ],
    ];
  });
  return table(['CPU per request', 'one game', '401', 'goal', 'met'], rows);
}

function figures(candidates: readonly Candidate[]): string {
  const rows = candidates.map(({ name, found }) => [
    name === 'the earlier version' ? name : `\`ACCESS_LOG=${name}\``,
    ...[found.keyed, found.keyless].flatMap((values) => [
      median(values).toFixed(2),
      `${Math.min(...values).toFixed(1)}–${Math.max(...values).toFixed(1)}`,
    ]),
  ]);
  const head = ['CPU, µs per request', 'one game', 'lowest–highest', '401', 'lowest–highest'];
  return table(head, rows);
}
