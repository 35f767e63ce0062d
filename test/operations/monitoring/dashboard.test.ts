/** The dashboard for Grafana: its queries, with a real Prometheus that scraped the real programs, and its form. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeVisitor, signIn } from '../../support/account.ts';
import { ROOT, send, until } from '../../support/product.ts';
import { type RedisServer, startRedis } from '../../support/servers/redis.ts';
import { startInstallation } from './installation.ts';
import { startMonitoring } from './monitored.ts';
import type { PrometheusServer } from './prometheus.ts';
import { startSite } from './staged-faults.ts';

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: Readonly<Record<'x' | 'y' | 'w' | 'h', number>>;
  readonly targets?: readonly { readonly expr: string }[];
}

const file = path.join(ROOT, 'operations/grafana/cover-catalogue.json');
const { panels, annotations }: { panels: Panel[]; annotations: { list: { expr: string }[] } } =
  JSON.parse(readFileSync(file, 'utf8'));
const queries = panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr }) => [title, expr] as const),
);

describe('the panels', () => {
  test('have different ids, and do not overlap', () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)},${y + Math.floor(cell / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(Math.max(...panels.map(({ gridPos: { x, w } }) => x + w))).toBe(24);
  });

  test('all have queries, except for headings', () => {
    const without = panels.filter(({ targets = [] }) => targets.length === 0);
    expect([...new Set(without.map(({ type }) => type))]).toEqual(['row']);
    expect(queries.length).toBeGreaterThan(40);
  });
});

describe('with a real Prometheus', () => {
  let redis: RedisServer;
  let prometheus: PrometheusServer;

  beforeAll(async () => {
    redis = await startRedis();
    const installation = await startInstallation({ LIMITS_URL: redis.url });
    const visitor = makeVisitor(installation.pages);
    prometheus = await startMonitoring({
      ...Object.fromEntries(
        Object.entries(installation.admin).map(([job, address]) => [job, [address]]),
      ),
      site: [(await startSite()).address],
    });
    const ask = () => send(`${installation.api}/platforms`, { headers: { 'x-api-key': 'wrong' } });
    await signIn(visitor, 'owner@covers.example', installation.mailFolder);
    // A rate needs two scrapes with requests in between.
    const isCounted = async () => {
      await Promise.all([ask(), visitor.get('/account/sign-in')]);
      const rates = ['api_requests_total', 'account_response_seconds_count', 'task_runs_total'];
      const found = await Promise.all([
        ...rates.map((name) => prometheus.query(`sum(rate(${name}[1m])) > 0`)),
        prometheus.query('increase(schedule_runs_total[1h])'),
      ]);
      return found.every((series) => series.length > 0);
    };
    await until(isCounted);
  });
  afterAll(async () => {
    await prometheus.stop();
    await redis.stop();
  });

  test.each(queries)('%s: %s has data', async (_title, expression) => {
    const query = () => prometheus.query(expression.replaceAll('$__rate_interval', '1m'));
    // A metric that its first scrape did not have yet waits for two more.
    await expect.poll(query, { timeout: 20_000 }).not.toEqual([]);
    for (const { value } of await query()) expect(value[1]).not.toBe('NaN');
  });

  test('the query of the annotations is valid', async () => {
    const [{ expr = '' } = {}] = annotations.list;
    expect(await prometheus.query(expr)).toEqual(expect.any(Array));
  });
});
