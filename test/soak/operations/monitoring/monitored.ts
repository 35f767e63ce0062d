/**
 * Debian's Prometheus and blackbox exporter with the files of operations/prometheus/. Only what a test
 * cannot wait for is changed: addresses, intervals, and how long an alert waits before it fires.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { dump, load } from 'js-yaml';
import { startTied } from '../../../support/processes.ts';
import { makeFolder, ROOT } from '../../../support/product.ts';
import { freePort, listens } from '../../../support/servers/ports.ts';
import { type PrometheusServer, startPrometheus } from './prometheus.ts';

const FOLDER = path.join(ROOT, 'operations/prometheus');

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<'summary' | 'runbook_url', string>>;
}

interface Job {
  readonly job_name: string;
  readonly static_configs: readonly object[];
}

/** The alert rules, in the order of their file. */
export function readAlertRules(): Rule[] {
  const text = readFileSync(path.join(FOLDER, 'cover-catalogue-alerts.yml'), 'utf8');
  const { groups } = load(text) as { groups: { rules: Rule[] }[] };
  return groups.flatMap(({ rules }) => rules);
}

/**
 * Starts Prometheus, which scrapes every two seconds.
 * @param targets for each job of prometheus.yml, such as "proxy", the addresses to scrape
 * @param changeExpression may change the expression of an alert
 */
export async function startMonitoring(
  targets: Readonly<Record<string, readonly string[]>>,
  changeExpression: (expression: string) => string = (expression) => expression,
): Promise<PrometheusServer> {
  const rules = path.join(makeFolder(), 'alerts.yml');
  const changed = readAlertRules().map((rule) => ({
    ...rule,
    // Longer than one scrape, which may fail on a busy machine.
    for: '5s',
    expr: changeExpression(rule.expr),
  }));
  writeFileSync(rules, dump({ groups: [{ name: 'alerts', rules: changed }] }));
  const blackbox = await startBlackbox();
  const text = readFileSync(path.join(FOLDER, 'prometheus.yml'), 'utf8');
  const { alerting: _, ...configuration } = load(
    text.replace('127.0.0.1:9115', blackbox.address),
  ) as {
    alerting: object;
    scrape_configs: Job[];
  };
  const server = await startPrometheus(
    dump({
      ...configuration,
      global: { scrape_interval: '2s', scrape_timeout: '2s', evaluation_interval: '1s' },
      rule_files: [rules],
      scrape_configs: configuration.scrape_configs.map((job) => ({
        ...job,
        static_configs: [{ targets: targets[job.job_name.replace('cover-catalogue-', '')] ?? [] }],
      })),
    }),
  );
  return {
    ...server,
    async stop() {
      await Promise.all([server.stop(), blackbox.stop()]);
    },
  };
}

async function startBlackbox() {
  const port = await freePort();
  const address = `127.0.0.1:${port}`;
  const { stop } = await startTied(
    [
      'prometheus-blackbox-exporter',
      `--config.file=${path.join(FOLDER, 'blackbox.yml')}`,
      `--web.listen-address=${address}`,
    ],
    { signal: 'KILL' },
  );
  for (let tries = 0; !(await listens(port)); tries++) {
    if (tries === 400) throw new Error('the blackbox exporter did not start');
    await sleep(25);
  }
  return { address, stop };
}
