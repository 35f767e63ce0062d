/** OPERATIONS.md lists every metric of the proxy and every reason of a refusal, and no others. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { addLimitMetrics } from '../../../proxy/admin/metrics.ts';
import { REFUSALS } from '../../../proxy/api/request-counts.ts';
import { makeFolder, NEVER, ROOT, startProxy } from '../../support/product.ts';

const OPERATIONS = readFileSync(path.join(ROOT, 'OPERATIONS.md'), 'utf8');

/** The names in the first column of the first table behind a heading. */
function namesBehind(heading: string): string[] {
  const section = OPERATIONS.split(`\n${heading}\n`)[1]?.split('\n#', 1)[0] ?? '';
  return [...section.matchAll(/^\| `(\w+)(?:\{.*?\})?` \|/gm)].map(([, name]) => name as string);
}

function namesIn(exposition: string): string[] {
  return [...exposition.matchAll(/^# HELP (\w+) /gm)].map(([, name]) => name as string);
}

test('the table of metrics has every metric of the proxy, and no others', async () => {
  const proxy = await startProxy(makeFolder(), {}, NEVER);
  const shared = new Registry();
  addLimitMetrics(shared, []);
  const names = [...namesIn(await proxy.metrics()), ...namesIn(await shared.metrics())];
  const own = names.filter((name) => !/^(?:process|nodejs)_/.test(name));
  expect(own.length).toBeGreaterThan(20);
  expect([...new Set(namesBehind('### Metrics of the proxy'))].sort()).toEqual(own.sort());
  await proxy.stop();
});

test('the table of refusals has every reason, and no others', () => {
  expect(namesBehind('### Reasons of refusals').sort()).toEqual([...REFUSALS].sort());
});
