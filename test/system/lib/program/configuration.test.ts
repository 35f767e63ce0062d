/**
 * A wrong configuration is an error that names the variable and the fix. The folders, ports and files are real.
 */
import { execFileSync } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import path from 'node:path';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { runGenerator } from '#cli/generate.ts';
import { runSnapshot } from '#cli/snapshot.ts';
import { ACCOUNT_VARIABLES } from '#keys/account/assemble.ts';
import { MAIL_CHECKS } from '#keys/mail/mailer.ts';
import { inspectEnvironment } from '#lib/program/environment/environment.ts';
import { checkReadableFolder, checkWritableFolder } from '#lib/program/folders.ts';
import { makeSampleSqlite } from '#test/catalogue/snapshots.ts';
import { UNPRIVILEGED } from '#test/support/processes.ts';
import { makeFolder, runCommand, startProxy } from '#test/support/product.ts';
import { listenOn } from '#test/support/servers/sockets.ts';

/** An address that no machine has (RFC 5737). */
const FOREIGN = '203.0.113.7';
const FIX =
  'Correct the path, which may be relative to the working directory, or the owner and mode.';
const DATABASE_URL = 'sqlite:absent.db';

let folder: string;
beforeEach(() => {
  folder = makeFolder();
});

const accountFaults = (variables: Record<string, string>) =>
  inspectEnvironment(ACCOUNT_VARIABLES, { DATABASE_URL, ...variables }, MAIL_CHECKS).faults;

describe('when a program cannot listen', () => {
  test.each([
    ['HOST', FOREIGN, 'listen EADDRNOTAVAIL'],
    ['ADMIN_HOST', 'nothost.invalid', 'getaddrinfo (ENOTFOUND|EAI_AGAIN)'],
  ])('the cause and the variable to change are named: %s=%s', async (name, host, cause) => {
    const error = await startProxy(folder, { [name]: host }).catch((caught) => caught);
    expect(error.name).toBe('ConfigurationError');
    const fix = `${name} must be an address of this machine`;
    expect(error.message).toMatch(new RegExp(`^Cannot listen: ${cause}.*${host}.*\\. ${fix}`));
  });

  test.each(['1', '2'])('so is a port that is taken, with %s threads', async (PROXY_THREADS) => {
    const taken = String(await listenOn(createServer()));
    const started = startProxy(folder, { PORT: taken, PROXY_THREADS });
    const error = await started.catch((caught) => caught);
    expect(error.name).toBe('ConfigurationError');
    expect(error.message).toMatch(/^Cannot listen: .*EADDRINUSE/);
    expect(error.message).toContain(`and port ${taken}, which PORT chooses, must be free;`);
    expect(error.message).toContain(`127.0.0.1:${taken}. HOST`);
  });
});

describe('a folder', () => {
  test.each([
    ['because its file system is read-only', '/proc/snapshots', '/proc/snapshots'],
    ['because it is a dangling symbolic link', 'dangling', 'dangling'],
  ])('that cannot be created %s is named', async (_, value, named) => {
    symlinkSync('absent', path.join(folder, 'dangling'));
    const { code, stderr } = await runCommand(runGenerator, ['--dry-run'], {
      DATABASE_URL: await makeSampleSqlite(),
      SNAPSHOTS_DIR: path.resolve(folder, value),
    });
    expect(code).not.toBe(0);
    expect(stderr).toContain(named);
  });

  test('that is a file is named by each command', async () => {
    const file = path.join(folder, 'file');
    writeFileSync(file, '');
    const fault = `is ${file}: ${file} is not a folder. ${FIX}`;
    expect(() => checkWritableFolder(path.relative('.', file))).toThrow(fault);
    for (const [command, words] of [
      [runGenerator, []],
      [runSnapshot, ['prune']],
      [runSnapshot, ['list']],
    ] as const) {
      const variables = { DATABASE_URL, SNAPSHOTS_DIR: file };
      const { code, stderr } = await runCommand(command, words, variables);
      expect([code, stderr]).toEqual([2, `SNAPSHOTS_DIR ${fault}\n`]);
    }
    expect(accountFaults({ MAIL_FOLDER: file })).toEqual([`MAIL_FOLDER ${fault}`]);
    // The folder for e-mails is not used when there is a mail server.
    expect(accountFaults({ MAIL_FOLDER: file, SMTP_URL: 'smtp://localhost' })).toEqual([]);
  });

  test('to read may be absent, but not the folder above it', () => {
    checkReadableFolder(path.join(folder, 'snapshots'));
    expect(() => checkReadableFolder(path.join(folder, 'data/snapshot'))).toThrow(
      `is ${folder}/data/snapshot: ENOENT: no such file or directory, stat '${folder}/data'. ${FIX}`,
    );
  });
});

describe('without the rights', () => {
  let base: string;
  let said: Record<string, string>;
  beforeAll(() => {
    base = makeFolder();
    const worker = path.join(import.meta.dirname, 'rights-worker.ts');
    const [file = '', ...args] = [...UNPRIVILEGED, process.execPath, worker];
    said = JSON.parse(execFileSync(file, args, { cwd: base, encoding: 'utf8' }));
  });

  test('to a folder, the message names the closest one, and the cause', () => {
    const denied = (folder: string) =>
      `: EACCES: permission denied, access '${base}/${folder}'. ${FIX}`;
    expect(said.write).toBe(`is ${base}/closed${denied('closed')}`);
    expect(said.create).toBe(`is ${base}/closed/new/one${denied('closed')}`);
    expect(said.read).toBe(`is ${base}/dark${denied('dark')}`);
    expect(said.enter).toBe(`is ${base}/dark/inner${denied('dark')}`);
  });

  test.each([
    'a file that may not be opened',
    'a file that may only be read',
    'a folder that may only be read',
    'a folder that may not be entered',
  ])('to a SQLite database in %s, one line names it and the rights that are needed', (name) => {
    const [line = '', ...more] = (said[name] ?? '').split('\n');
    expect(more).toEqual(['']);
    expect(line).toMatch(new RegExp(`^1 (?:query of ${base}/${name}/.*:|${base}/.* cannot be) `));
    expect(line.split('The user of this program')).toHaveLength(2);
    expect(line).toMatch(
      / must be able to write to the file and to its folder, .* owner or mode\.$/,
    );
  });
});
