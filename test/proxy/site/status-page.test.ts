/** The page /status: how the last runs ended, as `status.json` tells. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { STATUS_FILE } from '../../../format/layout.ts';
import { type Ending, saveStatus } from '../../../generations/run-status.ts';
import { makeStatusPage } from '../../../proxy/site/status-page.ts';
import { makeFolder } from '../../support/product.ts';

const SECRET = 'connect ECONNREFUSED db.internal:3306';

/** The results that the page of a folder lists, the latest first. */
async function shown(snapshotsDir: string): Promise<{ runs: string[]; text: string }> {
  const maintenance = new Int32Array(1);
  const page = await makeStatusPage({ snapshotsDir, current: () => undefined, maintenance })();
  const text = page.toString();
  const [, table = ''] = text.split('<h2>Recent runs</h2>');
  const runs = [...table.matchAll(/<span class="state \w+">([^<]+)</g)].map(([, name]) => name);
  return { runs: runs as string[], text };
}

test('the status page lists the last 20 runs, without their errors', async () => {
  const folder = makeFolder();
  const id = '000001-0123456789ab';
  const run = (ending: Ending) => saveStatus(folder, ending);
  run({ outcome: 'published', id });
  expect((await shown(folder)).text).toContain('Last run <span class="state good">Published<');
  expect((await shown(folder)).runs).toEqual([]);
  for (let i = 0; i < 20; i++) run({ outcome: 'unchanged', id });
  run({ outcome: 'failed', error: SECRET });
  run({ outcome: 'refused', error: SECRET });
  run({ outcome: 'held', error: SECRET });
  const { runs, text } = await shown(folder);
  const unchanged = Array.from({ length: 17 }, () => 'No changes');
  expect(runs).toEqual(['Paused', 'Refused', 'Failed', ...unchanged]);
  expect(text).not.toContain('ECONNREFUSED');
  expect(text.match(/<time datetime/g)?.length).toBe(21);
});

test('the status page leaves out outcomes of a newer version, and a damaged file', async () => {
  const folder = makeFolder();
  const file = path.join(folder, STATUS_FILE);
  saveStatus(folder, { outcome: 'unchanged', id: '000001-0123456789ab' });
  saveStatus(folder, { outcome: 'failed', error: SECRET });
  const status = JSON.parse(readFileSync(file, 'utf8'));
  const strange = { finished_at: status.finished_at, outcome: '<b>constructor' };
  writeFileSync(file, JSON.stringify({ ...status, earlier: [strange, ...status.earlier] }));
  expect((await shown(folder)).runs).toEqual(['Failed', 'No changes']);
  writeFileSync(file, JSON.stringify({ ...status, earlier: [{ finished_at: 'soon' }] }));
  expect((await shown(folder)).text).not.toContain('Last run');
});
