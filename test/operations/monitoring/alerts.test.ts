/** The alerts without Prometheus: what every rule has, and that the metrics it reads exist. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { load } from 'js-yaml';
import { expect, test } from 'vitest';
import { saveReplicaState } from '#lib/generations/state-files.ts';
import { makeSampleSnapshots, makeSampleSqlite } from '#test/catalogue/snapshots.ts';
import { startSchedule } from '#test/generator/schedule/start-schedule.ts';
import { makeAccounts, openPages } from '#test/support/account.ts';
import { makeFolder, NEVER, ROOT, send, startProxy } from '#test/support/product.ts';
import { newSnapshots } from '#test/support/wholeness.ts';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<'summary' | 'runbook_url', string>>;
}

const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8');
const file = load(read('operations/prometheus/cover-catalogue-alerts.yml'));
const rules = (file as { groups: { rules: Rule[] }[] }).groups.flatMap(({ rules }) => rules);

test.each(rules)('$alert has a severity, a summary with values and a page', (rule) => {
  expect(['critical', 'warning', 'info']).toContain(rule.labels.severity);
  expect(rule.annotations.summary).toMatch(/\{\{ \$(?:value|labels)/);
  const [, page = ''] =
    /^https:\/\/runbooks\.covers\.example\.org\/([a-z-]+\.md)$/.exec(
      rule.annotations.runbook_url,
    ) ?? [];
  expect(read(`operations/runbooks/${page}`)).toContain('# ');
});

/** The names of all metrics that running programs expose. */
async function exposedNames(): Promise<ReadonlySet<string>> {
  const databaseUrl = await makeAccounts(await makeSampleSqlite());
  const snapshotsDir = await makeSampleSnapshots();
  const part = { from: 'x', error: null, refused: null, current_as_of: null };
  saveReplicaState(snapshotsDir, {
    snapshot: { ...part, id: null, published_at: null },
    keys: part,
  });
  // Nothing listens there.
  const proxy = await startProxy(snapshotsDir, { LIMITS_URL: 'redis://127.0.0.1:1' }, NEVER);
  await send(`${proxy.url}/api/v1/stats`);
  const pages = await openPages(databaseUrl, { MAIL_FOLDER: makeFolder() });
  const schedule = startSchedule(databaseUrl, newSnapshots());
  await schedule.logged('"outcome":"published"');
  const { admin } = JSON.parse(await schedule.logged('"scheduled"'));
  const own = [`http://${admin}`, pages.adminUrl].map((url) => send(`${url}/metrics`));
  const texts = [await proxy.metrics(), ...(await Promise.all(own)).map(({ text }) => text)];
  return new Set(texts.join('\n').match(/(?<=^|^# TYPE )[a-z]\w+/gm));
}

test('the metrics in alerts and in the table of operations/monitoring.md are those of the programs', async () => {
  const exposed = await exposedNames();
  const inAlerts = rules.flatMap(({ expr }) => {
    const names = /\b(?:account|api|keys|limits|mail|replica|schedule|snapshots?|task)_[a-z_]+/g;
    return expr.replaceAll(/"[^"]*"/g, '').match(names) ?? [];
  });
  expect(inAlerts.length).toBeGreaterThan(20);
  expect(inAlerts.filter((name) => !exposed.has(name))).toEqual([]);
  const [, table = ''] = read('operations/monitoring.md').split('\n| metric | meaning |\n');
  const rows = table.slice(0, table.indexOf('\n\n')).split('\n');
  const documented = rows.flatMap((row) =>
    [...(row.split('|')[1] ?? '').matchAll(/`([a-z_]+)`/g)].map(([, name = '']) => name),
  );
  expect(documented.length).toBeGreaterThan(15);
  expect(documented.filter((name) => !exposed.has(name))).toEqual([]);
});
