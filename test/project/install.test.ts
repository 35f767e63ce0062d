/** The scripts that install npm and Debian packages: what they install, and when. */
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { makeFolder, ROOT } from '../support/product.ts';

/** A repository with this lock file, and a PATH on which npm, apt-get and id print their arguments. */
let root: string;
let bin: string;
const LOCK = {
  '': {},
  'node_modules/production': { version: '1.0.0', integrity: 'sha512-a' },
  'node_modules/development': { version: '2.0.0', integrity: 'sha512-b', dev: true },
  'node_modules/native': {
    version: '3.0.0',
    integrity: 'sha512-c',
    optional: true,
    os: [process.platform],
    cpu: [process.arch],
  },
  'node_modules/foreign': { version: '3.0.0', optional: true, os: ['aix'], cpu: ['ppc64'] },
  'node_modules/part-of-foreign': { version: '3.0.0', optional: true },
};
type Name = keyof typeof LOCK;
/** The folders with packages of their own that the tests need. */
const FOLDERS = ['client'];

beforeEach(() => {
  root = join(makeFolder(), 'repository');
  bin = join(makeFolder(), 'bin');
  for (const path of ['install', 'demo/install.sh', 'test/install.sh', 'program/environment']) {
    cpSync(join(ROOT, path), join(root, path), { recursive: true });
  }
  write('package.json', '{"type":"module"}');
  write('package-lock.json', JSON.stringify({ packages: LOCK }));
  for (const folder of FOLDERS) {
    write(join(folder, 'package-lock.json'), folder);
    write(join(folder, 'node_modules/installed.json'), folder);
  }
  mkdirSync(bin);
  fake('npm', 'echo "npm $*"');
  fake('apt-get', 'echo "apt-get $*"');
  fake('id', 'echo 0');
});

describe('demo/install.sh', () => {
  it('does nothing when the production packages are there', () => {
    install('node_modules/production', 'node_modules/native');
    expect(run('demo/install.sh')).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  it('installs without development packages and install scripts on a fresh clone', () => {
    const { code, stderr } = run('demo/install.sh');
    expect(code).toBe(0);
    expect(stderr).toMatch(/^npm install .*--omit=dev.*--ignore-scripts/m);
  });

  it('keeps installed development packages when another package is missing', () => {
    install('node_modules/native');
    mkdirSync(join(root, 'node_modules/typescript'));
    expect(run('demo/install.sh').stderr).toMatch(/^npm install .*--include=dev/m);
  });

  it('removes node_modules and tries once more when an installation fails, then reports the failure', () => {
    fake('npm', 'ls node_modules; echo "npm $*"; exit 1');
    mkdirSync(join(root, 'node_modules/left-behind'), { recursive: true });
    const { code, stderr } = run('demo/install.sh');
    expect(code).toBe(1);
    expect(stderr.match(/^npm install/gm)).toHaveLength(2);
    expect(stderr.match(/left-behind/g)).toHaveLength(1);
    expect(stderr).toContain('npm could not install the packages');
  });
});

describe('test/install.sh', () => {
  it('does nothing when every package is there', () => {
    install('node_modules/production', 'node_modules/native', 'node_modules/development');
    expect(run('test/install.sh')).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  it.each<[string, Name[]]>([
    ['a development package', ['node_modules/production', 'node_modules/native']],
    ['the binary of this machine', ['node_modules/production', 'node_modules/development']],
  ])('installs everything when %s is missing', (_, present) => {
    install(...present);
    expect(run('test/install.sh').stderr).toMatch(/^npm install .*--include=dev/m);
  });

  it('installs everything when a version differs from the lock file', () => {
    install('node_modules/production', 'node_modules/native', 'node_modules/development');
    const changed = { ...LOCK, 'node_modules/production': { version: '1.0.1' } };
    write('package-lock.json', JSON.stringify({ packages: changed }));
    expect(run('test/install.sh').stderr).toMatch(/^npm install /m);
  });

  it('installs everything when the folder of a package is missing', () => {
    install('node_modules/production', 'node_modules/native', 'node_modules/development');
    rmSync(join(root, 'node_modules/development'), { recursive: true });
    expect(run('test/install.sh').stderr).toMatch(/^npm install /m);
  });

  it.each(FOLDERS)('installs the packages of %s once, without install scripts', (folder) => {
    install('node_modules/production', 'node_modules/native', 'node_modules/development');
    rmSync(join(root, folder, 'node_modules/installed.json'));
    fake('npm', 'echo "in $PWD: npm $*"');
    const { stderr } = run('test/install.sh');
    expect(stderr).toMatch(/^in .*: npm install .*--ignore-scripts/m);
    expect(stderr).toContain(`in ${join(root, folder)}: npm`);
    expect(run('test/install.sh').stderr).toBe('');
  });

  it('tries again when an installation in a folder failed', () => {
    install('node_modules/production', 'node_modules/native', 'node_modules/development');
    write('client/package-lock.json', 'another');
    fake('npm', 'exit 1');
    expect(run('test/install.sh')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('npm could not install the packages of client/package-lock'),
    });
    fake('npm', 'echo "npm $*"');
    expect(run('test/install.sh').stderr).toMatch(/^npm install /m);
  });
});

describe('the Debian packages', () => {
  const bring = (...pairs: string[]) =>
    runShell(`. install/packages.sh && install_debian_packages ${pairs.join(' ')}`);

  it('are not installed when their commands exist', () => {
    expect(bring('sh:dash', 'ls:coreutils')).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  it('are installed once each as root, after an update', () => {
    const { code, stderr } = bring('ls:coreutils', 'absent-a:one', 'absent-b:one', 'absent-c:two');
    expect(code).toBe(0);
    expect(stderr.split('\n').slice(1)).toEqual([
      'apt-get -qq update',
      'apt-get -qq install --yes --no-install-recommends one two',
      '',
    ]);
  });

  it('are named, with the command to run, when the user is not root', () => {
    fake('id', 'echo 1000');
    const { code, stderr } = bring('absent-a:one', 'absent-c:two');
    expect(code).toBe(1);
    expect(stderr).toContain(
      '  apt-get update && apt-get install --no-install-recommends one two\n',
    );
  });
});

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

function fake(command: string, script: string): void {
  writeFileSync(join(bin, command), `#!/bin/sh\n${script}\n`);
  chmodSync(join(bin, command), 0o755);
}

/** Creates node_modules as npm does. */
function install(...names: Name[]): void {
  for (const name of names) write(join(name, 'package.json'), '{}');
  const packages = Object.fromEntries(names.map((name) => [name, LOCK[name]]));
  write('node_modules/.package-lock.json', JSON.stringify({ packages }));
}

function run(script: string) {
  return runShell(`sh ${script}`);
}

function runShell(command: string) {
  const { status, stdout, stderr } = spawnSync('sh', ['-c', command], {
    cwd: root,
    encoding: 'utf8',
    env: { PATH: [bin, dirname(process.execPath), '/usr/bin', '/bin'].join(':') },
  });
  return { code: status, stdout, stderr };
}
