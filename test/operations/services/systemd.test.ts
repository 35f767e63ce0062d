/** The files in operations/systemd/, checked by systemd's own tools without starting anything. */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { VARIABLES } from '#lib/program/environment/variables.ts';
import { makeFolder, ROOT } from '#test/support/product.ts';

const FOLDER = path.join(ROOT, 'operations/systemd');
const SETTINGS = path.join(ROOT, 'operations/environment');
const HIGHEST_EXPOSURE = 2;

const units = readdirSync(FOLDER).filter((name) => name.endsWith('.service'));

function read(name: string): string {
  return readFileSync(path.join(FOLDER, name), 'utf8');
}

/** Copies a unit into a new folder, with the programs of this checkout. @returns its path */
function copyUnit(name: string): string {
  const file = path.join(makeFolder(), name);
  writeFileSync(file, read(name).replaceAll('/opt/cover-catalogue', ROOT));
  return file;
}

test('there is a unit for each program that runs all the time', () => {
  expect(units.toSorted()).toEqual([
    'cover-catalogue-account.service',
    'cover-catalogue-proxy@.service',
    'cover-catalogue-replica.service',
    'cover-catalogue-schedule.service',
  ]);
});

test('the command in the runbook of an upgrade lets units and script lead to another folder', () => {
  const runbook = readFileSync(path.join(ROOT, 'operations/runbooks/upgrade.md'), 'utf8');
  const [command = ''] = /^ {4}sed .+$/m.exec(runbook) ?? [];
  const folder = makeFolder();
  cpSync(FOLDER, path.join(folder, 'operations/systemd'), { recursive: true });
  execFileSync('sh', ['-c', command], { env: { ...process.env, new: folder } });
  for (const name of [...units, 'cover-catalogue']) {
    const text = readFileSync(path.join(folder, 'operations/systemd', name), 'utf8');
    expect(text).toBe(read(name).replaceAll('/opt/cover-catalogue/', `${folder}/`));
    expect(text).toContain(`${folder}/bin/cover-catalogue `);
  }
});

describe.each(units)('%s', (unit) => {
  test('is correct', () => {
    expect(verifyUnit(copyUnit(unit))).toBe('');
  });

  test(`has an exposure of at most ${HIGHEST_EXPOSURE}`, () => {
    expect(exposureOf(copyUnit(unit))).toBeLessThanOrEqual(HIGHEST_EXPOSURE);
  });

  test('starts a program that exists, with settings that exist', () => {
    const [, command = ''] = /^ExecStart=\S+ (\w+)$/m.exec(read(unit)) ?? [];
    expect(readdirSync(path.join(ROOT, 'cli'))).toContain(`${command}.ts`);
    const [, settings = ''] = /^EnvironmentFile=\S+\/(\w+\.env)$/m.exec(read(unit)) ?? [];
    expect(readdirSync(SETTINGS)).toContain(settings);
  });
});

describe.each(readdirSync(SETTINGS))('operations/environment/%s', (name) => {
  const lines = readFileSync(path.join(SETTINGS, name), 'utf8').split('\n');

  test('sets variables that exist', () => {
    const names = lines.flatMap((line) => /^([A-Z_0-9]+)=/.exec(line)?.[1] ?? []);
    expect(Object.keys(VARIABLES)).toEqual(expect.arrayContaining(names));
    expect(names).not.toEqual([]);
  });

  test('has comments only on lines of their own, because systemd would read them as values', () => {
    const values = lines.filter((line) => line !== '' && !line.startsWith('#'));
    expect(values.filter((line) => line.includes(' #'))).toEqual([]);
  });
});

/** @returns what `systemd-analyze verify` prints about a unit; empty if all is well */
function verifyUnit(file: string): string {
  const { status, stdout, stderr } = spawnSync(
    'systemd-analyze',
    ['verify', '--recursive-errors=no', file],
    { encoding: 'utf8' },
  );
  return status === 0 ? stdout + stderr : `${status}: ${stdout}${stderr}`;
}

/** @returns how exposed a unit is, from 0 to 10, as `systemd-analyze security` computes it */
function exposureOf(file: string): number {
  const text = execFileSync('systemd-analyze', ['security', '--offline=true', file], {
    encoding: 'utf8',
  });
  return Number(/Overall exposure level for .*: ([\d.]+)/.exec(text)?.[1]);
}
