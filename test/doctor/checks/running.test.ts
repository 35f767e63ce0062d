/** What a running proxy says about itself, and the limit on open files. */
import { cpSync, rmSync, truncateSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { proxy } from '../../../doctor/checks/running.ts';
import { currentId, generationDir, pointCurrentTo } from '../../../generations/generations.ts';
import { makeSampleSnapshots } from '../../catalogue/snapshots.ts';
import { withOpenFiles } from '../../support/processes.ts';
import { makeFolder, NEVER, runProgram, startProxy, testKey } from '../../support/product.ts';
import { examine, faultsIn } from '../installation.ts';

const DAMAGED = '000002-0123456789ab';

test('a proxy that refuses the generation and keeps old keys says so', async () => {
  const snapshotsDir = await makeSampleSnapshots([testKey(1)]);
  const running = await startProxy(snapshotsDir, {}, NEVER);
  const variables = {
    SNAPSHOTS_DIR: snapshotsDir,
    ADMIN_PORT: new URL(running.adminUrl).port,
  };
  const faults = async () => faultsIn(await examine(proxy, variables, { programs: ['proxy'] }));
  expect(await faults()).toEqual([]);
  const id = currentId(snapshotsDir) ?? '';
  cpSync(generationDir(snapshotsDir, id), generationDir(snapshotsDir, DAMAGED), {
    recursive: true,
  });
  truncateSync(path.join(generationDir(snapshotsDir, DAMAGED), 'manifest.json'), 100);
  pointCurrentTo(snapshotsDir, DAMAGED);
  rmSync(path.join(snapshotsDir, 'keys.json'));
  await running.refresh();
  const found = await faults();
  expect(found).toContainEqual({
    level: 'error',
    text: expect.stringMatching(new RegExp(`^The proxy refuses the generation ${DAMAGED}: `)),
    fix: expect.stringContaining('snapshot verify'),
  });
  expect(found).toContainEqual({
    level: 'error',
    text: expect.stringMatching(/^The proxy keeps old keys: There is no keys\.json/),
    fix: expect.any(String),
  });
  expect(found).toContainEqual({
    level: 'warning',
    text: `The proxy serves ${id}, but ${DAMAGED} is current in SNAPSHOTS_DIR.`,
    fix: expect.any(String),
  });
  await running.stop();
});

test('few open files are a warning that says how many connections they leave', async () => {
  // The limit is that of a process. So this is also the test of the program.
  const { code, stdout } = await runProgram(
    'doctor/main.ts',
    ['--for', 'proxy', '--json'],
    { SNAPSHOTS_DIR: makeFolder(), PUBLIC_URL: 'http://localhost:8080' },
    withOpenFiles(150),
  );
  expect(code).toBe(0);
  const { checks } = JSON.parse(stdout) as { checks: { name: string; findings: unknown }[] };
  const findingsOf = (name: string) => checks.find((check) => check.name === name)?.findings;
  expect(findingsOf('open files')).toEqual([
    {
      level: 'warning',
      text: expect.stringMatching(
        /^The limit on open files is 150 here, which leaves \d\d connect/,
      ),
      fix: expect.stringContaining('LimitNOFILE'),
    },
  ]);
});
