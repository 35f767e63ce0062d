/**
 * The alerts: when they fire, in an hour that promtool simulates and with the real programs, and that
 * each of them is tested.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { load } from 'js-yaml';
import { describe, expect, test } from 'vitest';
import { openDatabase } from '../../../../database/open.ts';
import { ROOT } from '../../../support/product.ts';
import { IS_FULL, printFigure } from '../../rounds.ts';
import { until } from '../../support/until.ts';
import { readAlertRules, startMonitoring } from './monitored.ts';
import { type Alert, promtool } from './prometheus.ts';
import { type StagedFault, stageFaults, startHealthy } from './staged-faults.ts';

const SIMULATIONS = path.join(import.meta.dirname, 'alerts.yml');
/** For a machine that does much else. */
const LONGEST_FIRING_MS = 300_000;
const TEST_TIMEOUT_MS = 600_000;

const rules = readAlertRules();

interface Simulation {
  readonly alert_rule_test?: readonly {
    readonly alertname: string;
    /** Absent if the alert must be silent. */
    readonly exp_alerts?: unknown[];
  }[];
}

test('the files for Prometheus are valid', () => {
  const file = path.join(ROOT, 'operations/prometheus/prometheus.yml');
  expect(promtool(['check', 'config', file])).toMatchObject({ code: 0 });
});

test(
  'alerts fire as the simulations say, and are silent during an hour of health',
  () => {
    const { code, output } = promtool(['test', 'rules', SIMULATIONS]);
    expect(output).toContain('SUCCESS');
    expect(code).toBe(0);
  },
  TEST_TIMEOUT_MS,
);

test('every alert fires in a simulation', () => {
  const { tests: simulations } = load(readFileSync(SIMULATIONS, 'utf8')) as { tests: Simulation[] };
  const firing = simulations
    .flatMap(({ alert_rule_test: tests = [] }) => tests)
    .filter(({ exp_alerts: alerts = [] }) => alerts.length > 0)
    .map(({ alertname }) => alertname);
  expect(firing.toSorted()).toEqual(rules.map(({ alert }) => alert).toSorted());
});

describe.runIf(IS_FULL)('with the real programs', () => {
  test(
    'every alert fires where its fault is, and nowhere else',
    async () => {
      const healthy = await startHealthy();
      const faults = await stageFaults(healthy);
      const targets: Record<string, string[]> = {
        ...Object.fromEntries(
          Object.entries(healthy.admin).map(([job, address]) => [job, [address]]),
        ),
        site: [],
      };
      for (const { job, instance } of faults) targets[job]?.push(instance);
      const prometheus = await startMonitoring(targets, (expression) =>
        // In a test, no proxy takes that much memory or time.
        expression.replace('> 1.5e9', '> 1e7').replace('> 0.25', '> 0'),
      );
      const began = performance.now();
      const fired = new Map<string, Alert>();
      const remember = async () => {
        for (const alert of await prometheus.alerts()) {
          if (alert.state === 'firing') fired.set(keyOf(alert.labels), alert);
        }
      };
      // Some alerts compare with what Prometheus saw before.
      const isSeen = (query: string) =>
        until(async () => (await prometheus.query(query)).length > 0);
      await isSeen(`schedule_rows_left_out{table="covers",instance="${healthy.admin.schedule}"}`);
      await breakRow(healthy.databaseUrl);
      for (const { instance, begin } of faults) {
        if (begin === undefined) continue;
        await isSeen(`api_keys{instance="${instance}"} > 0`);
        begin();
      }
      const expected = [...faults.flatMap(alertsOf), `RowsLeftOut at ${healthy.admin.schedule}`];
      const missing = () => expected.filter((each) => !fired.has(each));
      while (missing().length > 0 && performance.now() - began < LONGEST_FIRING_MS) {
        await remember();
        await sleep(500);
      }
      expect(missing()).toEqual([]);
      printFigure(
        'alerts',
        `all ${rules.length} fired within ${Math.round((performance.now() - began) / 1000)} s`,
      );
      const names = new Set(expected.map((each) => each.split(' at ')[0]));
      expect([...names].toSorted()).toEqual(rules.map(({ alert }) => shortName(alert)).toSorted());

      const elsewhere = [...fired.keys()].filter(
        (each) =>
          Object.values(healthy.admin).some((address) => each.endsWith(` at ${address}`)) &&
          // Staged there, depends on the machine, or has a threshold that is changed above.
          !/^(?:RowsLeftOut|DiskFullSoon|ProxyMemory|SlowResponses) /.test(each),
      );
      expect(elsewhere).toEqual([]);
      await prometheus.stop();
    },
    TEST_TIMEOUT_MS,
  );
});

function shortName(alert: string): string {
  return alert.replace('CoverCatalogue', '');
}

function keyOf({ alertname = '', instance = '' }: Alert['labels']): string {
  return `${shortName(alertname)} at ${instance}`;
}

function alertsOf({ alerts, instance }: StagedFault): string[] {
  return alerts.map((alert) => `${alert} at ${instance}`);
}

/** Adds a cover without its game. */
async function breakRow(databaseUrl: string): Promise<void> {
  const database = await openDatabase(databaseUrl);
  await database.run(
    "INSERT INTO covers (id, game_id, status) VALUES (999999, 88888888, 'approved')",
  );
  await database.close();
}
