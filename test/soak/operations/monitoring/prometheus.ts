/** Debian's Prometheus: `promtool`, and a server on loopback that ends with the process that started it. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startTied } from '../../../support/processes.ts';
import { makeFolder } from '../../../support/product.ts';
import { freePort } from '../../../support/servers/ports.ts';

/** Runs promtool. @param input for its stdin */
export function promtool(args: readonly string[], input = ''): { code: number; output: string } {
  const { status, stdout, stderr, error } = spawnSync('promtool', args, {
    input,
    encoding: 'utf8',
  });
  if (error !== undefined) throw error;
  return { code: status ?? 1, output: stdout + stderr };
}

export interface Series {
  readonly metric: Readonly<Record<string, string>>;
  /** The time in seconds, and the value. */
  readonly value: readonly [number, string];
}

export interface Alert {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly state: 'pending' | 'firing';
}

export interface PrometheusServer {
  /** Evaluates an expression now. */
  query(expression: string): Promise<Series[]>;
  /** The alerts that are pending or firing. */
  alerts(): Promise<Alert[]>;
  stop(): Promise<void>;
}

/** @param configuration the text of `prometheus.yml` */
export async function startPrometheus(configuration: string): Promise<PrometheusServer> {
  const folder = makeFolder();
  const file = path.join(folder, 'prometheus.yml');
  writeFileSync(file, configuration);
  const port = await freePort();
  const server = await startTied(
    [
      'prometheus',
      `--config.file=${file}`,
      `--storage.tsdb.path=${path.join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=warn',
    ],
    { signal: 'KILL' },
  );
  const isReady = () =>
    fetch(`http://127.0.0.1:${port}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  for (let tries = 0; !(await isReady()); tries++) {
    if (tries === 400) throw new Error('prometheus did not start');
    await sleep(50);
  }
  const ask = async <Data>(target: string): Promise<Data> => {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/${target}`);
    const { data, error }: { data?: Data; error?: string } = Object(await response.json());
    if (data === undefined) throw new Error(`${target}: ${error}`);
    return data;
  };
  return {
    async query(expression) {
      const target = `query?query=${encodeURIComponent(expression)}`;
      return (await ask<{ result: Series[] }>(target)).result;
    },
    alerts: async () => (await ask<{ alerts: Alert[] }>('alerts')).alerts,
    stop: server.stop,
  };
}
