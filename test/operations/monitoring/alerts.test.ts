/** The alerts without Prometheus: what every rule has, and that the metrics it reads exist. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import fastGlob from 'fast-glob';
import { load } from 'js-yaml';
import { expect, test } from 'vitest';
import { ROOT } from '#test/support/product.ts';

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

test('the metrics in alerts and in the table of OPERATIONS.md are those of the programs', () => {
  const sources = fastGlob
    .sync('{commands,depot,generations,generator,keys,program,proxy}/**/*.ts', { cwd: ROOT })
    .map(read)
    .join('\n');
  const isMade = (name: string) => {
    // A histogram has three.
    const own = name.replace(/_(?:bucket|count|sum)$/, '');
    // The first word may be a parameter.
    const rest = own.replace(/^[a-z]+_/, '');
    return [`'${own}'`, `'${rest}'`, `}_${rest}\``].some((text) => sources.includes(text));
  };
  const inAlerts = rules.flatMap(
    ({ expr }) =>
      expr
        .replaceAll(/"[^"]*"/g, '')
        .match(/\b(?:account|api|keys|mail|replica|schedule|snapshot|snapshots|task)_[a-z_]+/g) ??
      [],
  );
  expect(inAlerts.length).toBeGreaterThan(20);
  expect(inAlerts.filter((name) => !isMade(name))).toEqual([]);
  const [, table = ''] = read('OPERATIONS.md').split('\n| metric | meaning |\n');
  const rows = table.slice(0, table.indexOf('\n\n')).split('\n');
  const documented = rows.flatMap((row) =>
    [...(row.split('|')[1] ?? '').matchAll(/`([a-z_]+)`/g)].map(([, name = '']) => name),
  );
  expect(documented.length).toBeGreaterThan(15);
  expect(documented.filter((name) => !isMade(name))).toEqual([]);
});
