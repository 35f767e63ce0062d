/** The files by which an operator changes what the proxy does, as the doctor sees them. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { proxyFiles } from '../../../doctor/checks/proxy-files.ts';
import { makeFolder } from '../../support/product.ts';
import { examine, faultsIn } from '../installation.ts';

let folder: string;
let file: string;
beforeEach(() => {
  folder = makeFolder();
  file = path.join(folder, 'file');
});

const findings = (variables: Record<string, string> = {}, proxyUser?: string) =>
  examine(
    proxyFiles,
    { SNAPSHOTS_DIR: folder, ...variables },
    {
      programs: ['proxy'],
      ...(proxyUser === undefined ? {} : { proxyUser }),
    },
  );

test('without any of them, all is well', async () => {
  expect((await findings()).map(({ level }) => level)).toEqual(['ok', 'ok']);
});

test('maintenance is a warning, and so is a content that is not a number', async () => {
  const maintenance = path.join(folder, 'maintenance');
  writeFileSync(maintenance, '600\n');
  expect(faultsIn(await findings())).toEqual([
    {
      level: 'warning',
      text: `The file ${maintenance} exists, so the API is under maintenance: it answers 503.`,
      fix: `When the maintenance is over, run: rm ${maintenance}`,
    },
  ]);
  writeFileSync(maintenance, 'ten minutes');
  expect(faultsIn(await findings())).toMatchObject([
    { level: 'warning', text: expect.stringContaining('not "ten minutes"') },
    { level: 'warning', text: expect.stringContaining('under maintenance') },
  ]);
});

test('the access log is only looked at, and not if it is off', async () => {
  const variables = { ACCESS_LOG: 'all', ACCESS_LOG_FILE: file };
  const sound = await findings(variables);
  expect(sound.at(-1)).toEqual({ level: 'ok', text: `The access log can be written: ${file}.` });
  expect(
    faultsIn(await findings({ ...variables, ACCESS_LOG_FILE: '/no/such/access.log' })),
  ).toEqual([
    {
      level: 'error',
      text: 'ACCESS_LOG_FILE cannot be written: /no/such is not a folder.',
      fix: expect.any(String),
    },
  ]);
  mkdirSync(file);
  expect(faultsIn(await findings(variables))).toMatchObject([
    { level: 'error', text: expect.stringContaining('is not a regular file') },
  ]);
  expect(faultsIn(await findings({ ...variables, ACCESS_LOG: 'off' }))).toEqual([]);
});

test('what the user of the proxy may not use is an error', async () => {
  chmodSync(folder, 0o755);
  const variables = {
    ACCESS_LOG: 'all',
    ACCESS_LOG_FILE: path.join(folder, 'access.log'),
  };
  expect(faultsIn(await findings(variables, 'nobody'))).toMatchObject([
    {
      level: 'error',
      text: expect.stringContaining(`nobody, may not write into ${folder}, which`),
    },
  ]);
  writeFileSync(variables.ACCESS_LOG_FILE, '', { mode: 0o666 });
  chmodSync(variables.ACCESS_LOG_FILE, 0o666);
  expect(faultsIn(await findings(variables, 'nobody'))).toEqual([]);
});
