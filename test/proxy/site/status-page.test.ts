/** The page /status: how the last runs ended, as `status.json` tells. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { STATUS_FILE } from '../../../format/layout.ts';
import { type Ending, saveStatus } from '../../../generations/state-files.ts';
import { makeStatusPage } from '../../../proxy/site/status-page.ts';
import { makeFolder } from '../../support/product.ts';

const SECRET = 'connect ECONNREFUSED db.internal:3306';

/** The page of a folder. */
async function shown(snapshotsDir: string): Promise<string> {
  const maintenance = new Int32Array(1);
  return String(await makeStatusPage({ snapshotsDir, current: () => undefined, maintenance })());
}

test('the status page shows how the last run ended, without its error', async () => {
  const folder = makeFolder();
  const run = (ending: Ending) => saveStatus(folder, ending);
  run({ outcome: 'published', id: '000001-0123456789ab' });
  expect(await shown(folder)).toContain('Last run <span class="state good">Published<');
  run({ outcome: 'failed', error: SECRET });
  const text = await shown(folder);
  expect(text).toContain('Last run <span class="state bad">Failed<');
  expect(text).not.toContain('ECONNREFUSED');
});

test('the status page leaves out an outcome of a newer version, and a damaged file', async () => {
  const folder = makeFolder();
  const file = path.join(folder, STATUS_FILE);
  saveStatus(folder, { outcome: 'unchanged', id: '000001-0123456789ab' });
  const status = JSON.parse(readFileSync(file, 'utf8'));
  for (const wrong of [{ outcome: '<b>constructor' }, { finished_at: 'soon' }]) {
    writeFileSync(file, JSON.stringify({ ...status, ...wrong }));
    expect(await shown(folder)).not.toContain('Last run');
  }
});
