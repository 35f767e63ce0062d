/** What running programs say about themselves. */
import { cpSync, rmSync, truncateSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { account, proxy, schedule } from '#cli/doctor/checks/running.ts';
import { currentId, generationDir, pointCurrentTo } from '#lib/generations/generations.ts';
import { adminPortOf, makeProgramAdmin } from '#lib/program/admin/program-admin.ts';
import { makeSampleSnapshots } from '#test/catalogue/snapshots.ts';
import { NEVER, startProxy, testKey, writeKeys } from '#test/support/product.ts';
import { examine, faultsIn } from './examine.ts';

const DAMAGED = '000002-0123456789ab';

/** The listener of a program, its port, and the setting under which the doctor finds it there. */
async function startAdmin(
  program: 'schedule' | 'account',
  readiness: () => Record<string, unknown>,
) {
  const settings = { ADMIN_HOST: '127.0.0.1', ADMIN_PORT: 0 };
  const admin = makeProgramAdmin({ program, settings, readiness });
  const port = Number((await admin.listen()).split(':').at(-1));
  const variables = {
    DATABASE_URL: 'sqlite:none.db',
    ADMIN_PORT: String(port - adminPortOf(program, 1) + 1),
  };
  return { admin, port, variables };
}

test('a proxy that refuses the generation and keeps old keys says so', async () => {
  const snapshotsDir = await makeSampleSnapshots([testKey(1)]);
  const running = await startProxy(snapshotsDir, {}, NEVER);
  const variables = { SNAPSHOTS_DIR: snapshotsDir, ADMIN_PORT: new URL(running.adminUrl).port };
  const find = () => examine(proxy, variables, ['proxy']);
  const id = currentId(snapshotsDir) ?? '';
  expect(await find()).toEqual([{ level: 'ok', text: '"cover-catalogue proxy" is ready.' }]);
  writeKeys(snapshotsDir, []);
  await running.refresh();
  expect(faultsIn(await find())).toMatchObject([
    { level: 'warning', text: expect.stringContaining('knows no keys') },
  ]);
  const damaged = generationDir(snapshotsDir, DAMAGED);
  cpSync(generationDir(snapshotsDir, id), damaged, { recursive: true });
  truncateSync(path.join(damaged, 'manifest.json'), 100);
  pointCurrentTo(snapshotsDir, DAMAGED);
  rmSync(path.join(snapshotsDir, 'keys.json'));
  await running.refresh();
  expect(faultsIn(await find())).toEqual(
    expect.arrayContaining([
      {
        level: 'error',
        text: expect.stringMatching(/^"cover-catalogue proxy" reports "refused": .*manifest/),
        fix: expect.any(String),
      },
      {
        level: 'error',
        text: expect.stringMatching(/reports "keys_error": There is no keys\.json/),
        fix: expect.any(String),
      },
      {
        level: 'warning',
        text: `The proxy serves ${id}, but ${DAMAGED} is current in SNAPSHOTS_DIR.`,
        fix: expect.any(String),
      },
    ]),
  );
});

test('once publishing is resumed, a run that the hold has stopped is no fault', async () => {
  const last_run = { outcome: 'held', error: 'Publishing is held.' };
  const { admin, variables } = await startAdmin('schedule', () => ({ held: null, last_run }));
  expect(await examine(schedule, variables)).toMatchObject([{ level: 'ok' }]);
  admin.close();
});

test('a program says which of its tasks fails, how the last run ended, and that publishing is held', async () => {
  const readiness = () => ({ held: 'Publishing is held.', last_run: { error: 'refused' } });
  const { admin, port, variables } = await startAdmin('schedule', readiness);
  const fail = admin.tasks.observe('export_keys', () => Promise.reject(new Error('no database')));
  const ofRun = { level: 'error', text: '"cover-catalogue schedule" reports "last_run": refused' };
  const ofHold = { level: 'warning', text: 'Publishing is held.' };
  expect(faultsIn(await examine(schedule, variables))).toMatchObject([ofRun, ofHold]);
  await expect(fail()).rejects.toThrow();
  expect(await examine(schedule, variables)).toMatchObject([
    { level: 'error', text: '"cover-catalogue schedule" is not ready.' },
    ofRun,
    { level: 'error', text: '"cover-catalogue schedule" reports "export_keys": no database' },
    ofHold,
  ]);
  // The port of another program.
  expect(await examine(proxy, { ADMIN_PORT: String(port) })).toMatchObject([
    { level: 'error', text: expect.stringContaining('is not "cover-catalogue proxy"') },
  ]);
  admin.close();
  expect(await examine(schedule, variables)).toMatchObject([
    { level: 'error', text: expect.stringContaining('does not answer') },
  ]);
});

test('account pages without their database are an error', async () => {
  const readiness = () => ({ ready: false, database: false });
  const { admin, variables } = await startAdmin('account', readiness);
  expect(await examine(account, { ADMIN_PORT: variables.ADMIN_PORT })).toMatchObject([
    { level: 'error', text: '"cover-catalogue account" is not ready.' },
    { level: 'error', text: '"cover-catalogue account" cannot read the database.' },
  ]);
  admin.close();
});
