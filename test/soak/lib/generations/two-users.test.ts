/**
 * The generator and the proxy as two users, set up as in operations/install.md. Root runs these tests. The
 * users need no entry in /etc/passwd.
 */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { GENERATIONS, PROXY_FOLDER, UNFINISHED_PREFIX } from '#lib/format/layout.ts';
import { replaceFile } from '#lib/generations/files/replace-file.ts';
import { currentId } from '#lib/generations/generations.ts';
import { finish, generate, makeFolder, ROOT, startProxyProgram } from '#test/support/product.ts';
import { startGenerator } from '#test/support/wholeness.ts';
import { listAll, makeSite, modesOf, SHARED } from '#test/system/lib/generations/folder-modes.ts';

/** The ids of the users and of their own groups. */
const GENERATOR = 64_101;
const PROXY = 64_102;
/** The group that reads the snapshots. */
const COVERS = 64_103;

/**
 * Shows the checkout to other users, within the command alone: `mktemp -d` makes folders that they may not
 * enter. Each entry is mounted by itself, because the checkout may be such a folder.
 */
const OPEN_CHECKOUT = `set -e
mount --bind "$1" "$3"
mount -t tmpfs -o mode=755 tmpfs "$2"
mkdir -p "$1"
for entry in "$3"/* "$3"/.[!.]*; do
  shown="$1/\${entry##*/}"
  if [ -d "$entry" ]; then mkdir "$shown"; else : > "$shown"; fi
  mount --bind "$entry" "$shown"
done
shift 3
exec "$@"`;

/** A command that runs the command after it as a user of that group. */
function as(user: number): string[] {
  const command = ['setpriv', `--reuid=${user}`, `--regid=${user}`, `--groups=${COVERS}`];
  const locked = foldersAbove(ROOT).find((folder) => (statSync(folder).mode & 0o5) !== 0o5);
  if (locked === undefined) return command;
  return ['unshare', '-m', 'sh', '-c', OPEN_CHECKOUT, 'sh', ROOT, locked, makeFolder(), ...command];
}

/** The outermost first. */
function foldersAbove(folder: string): string[] {
  const above = path.dirname(folder);
  return above === folder ? [folder] : [...foldersAbove(above), folder];
}

const isProxys = (name: string) => name.startsWith(PROXY_FOLDER);

describe.skipIf(process.getuid?.() !== 0)('as two users', () => {
  /** A folder for the generator, without one for the proxy. */
  function makeOwned(): string {
    const parent = makeFolder();
    chmodSync(parent, 0o755);
    const dir = path.join(parent, 'snapshots');
    mkdirSync(dir);
    chownSync(dir, GENERATOR, COVERS);
    chmodSync(dir, 0o2750);
    return dir;
  }

  /** Runs the `install` commands of operations/install.md, with the users, the group and the folder of this test. */
  function makeShared(): string {
    const dir = makeOwned();
    const operations = readFileSync(path.join(ROOT, 'operations/install.md'), 'utf8');
    const [section] = /## Users and file permissions\n.*?\n## /s.exec(operations) ?? [''];
    const commands = [...section.matchAll(/^ {4}(install -d .*)$/gm)].map(([, command]) =>
      command
        .replace('-o covers-generator', `-o ${GENERATOR}`)
        .replace('-o covers-proxy', `-o ${PROXY}`)
        .replace('-g covers', `-g ${COVERS}`)
        .replace('/srv/covers/snapshots', dir),
    );
    expect(commands).toHaveLength(2);
    for (const command of commands) execFileSync('sh', ['-c', command]);
    return dir;
  }

  /** Publishes in this process, and gives the files to the generator. */
  async function publishIn(dir: string) {
    const site = await makeSite();
    await generate(site.url, dir);
    for (const name of listAll(dir)) {
      if (!isProxys(name)) chownSync(path.join(dir, name), GENERATOR, COVERS);
    }
    return site;
  }

  async function generateAsUser(url: string, dir: string): Promise<void> {
    const { code, stderr } = await finish(startGenerator(url, dir, [], {}, as(GENERATOR)));
    expect(code, stderr).toBe(0);
  }

  test('the proxy serves, swaps to new generations, and reports key usage', async () => {
    const dir = makeShared();
    const { url, key, changeTitle } = await publishIn(dir);
    const proxy = await startProxyProgram(dir, {}, as(PROXY));
    const served = async () => (await proxy.get('/stats', key)).headers['x-snapshot'];
    expect(await served()).toBe(currentId(dir));
    await changeTitle();
    await generateAsUser(url, dir);
    await proxy.logged('serving a generation', 2);
    expect(await served()).toBe(currentId(dir));
    expect(await proxy.stop()).toBe(0);
    expect(proxy.log()).not.toMatch(/"level":[45]0/);
    const [usage = ''] = listAll(dir).filter((name) => name.includes('key-usage'));
    const [command = '', ...args] = [...as(GENERATOR), 'cat', path.join(dir, usage)];
    expect(execFileSync(command, args, { encoding: 'utf8' })).toContain('"keys":[[1,');
    // The proxy owns only its own folder, and the group may not write anything.
    for (const name of listAll(dir)) {
      const { uid, gid, mode } = statSync(path.join(dir, name));
      const owner = isProxys(name) ? PROXY : GENERATOR;
      expect([name, uid, gid, mode & 0o027]).toEqual([name, owner, COVERS, 0]);
    }
  });

  test('a proxy without its own folder still serves, and warns once', async () => {
    const dir = makeOwned();
    const { key } = await publishIn(dir);
    const proxy = await startProxyProgram(dir, {}, as(PROXY));
    expect((await proxy.get('/stats', key)).status).toBe(200);
    const warning = `Cannot write to ${path.join(dir, PROXY_FOLDER)}`;
    const { status, json } = await proxy.readyz();
    expect([status, json.faults]).toEqual([200, [expect.stringContaining(warning)]]);
    expect(await proxy.stop()).toBe(0);
    const lines = proxy.log().split('\n');
    expect(lines.filter((line) => line.includes(warning))).toHaveLength(1);
    expect(existsSync(path.join(dir, PROXY_FOLDER))).toBe(false);
  });

  test('a proxy that may not read a file reports the file', async () => {
    const dir = makeOwned();
    const { url, changeTitle } = await publishIn(dir);
    chownSync(dir, GENERATOR, GENERATOR);
    chmodSync(dir, 0o755);
    chmodSync(path.join(dir, 'keys.json'), 0o600);
    chmodSync(path.join(dir, GENERATIONS), 0o700);
    const proxy = await startProxyProgram(dir, {}, as(PROXY));
    await proxy.logged('refused a generation');
    const { status, text, json } = await proxy.readyz();
    expect([status, json.ready]).toEqual([503, false]);
    for (const message of [proxy.log(), text]) {
      expect(message).toContain(`permission denied, open '${dir}/keys.json'`);
      expect(message).toMatch(/permission denied[^"]*manifest\.json/);
    }
    // Applies the fix of operations/install.md while the proxy runs. It checks a refused generation every 30 s, but
    // a new one at once.
    chownSync(dir, GENERATOR, COVERS);
    chmodSync(dir, 0o2750);
    await changeTitle();
    await generate(url, dir);
    await proxy.logged('serving a generation');
    expect((await proxy.readyz()).json.snapshot).toBe(currentId(dir));
    await proxy.stop();
  });

  test('files of another user are not linked into a new generation', async () => {
    const dir = makeShared();
    const { url, changeTitle } = await publishIn(dir);
    for (const name of globSync(`${GENERATIONS}/**/*.*`, { cwd: dir })) {
      chownSync(path.join(dir, name), 0, COVERS);
      chmodSync(path.join(dir, name), 0o644);
    }
    await changeTitle();
    await generateAsUser(url, dir);
    const newest = path.join(dir, GENERATIONS, currentId(dir) as string);
    expect(modesOf(newest)).toEqual(SHARED);
    const owners = listAll(newest).map((name) => statSync(path.join(newest, name)).uid);
    expect(new Set(owners)).toEqual(new Set([GENERATOR]));
  });

  test('an unfinished file of another user in the group is replaced', () => {
    const dir = makeFolder();
    chownSync(dir, GENERATOR, COVERS);
    chmodSync(dir, 0o2770);
    const left = path.join(dir, `${UNFINISHED_PREFIX}${process.pid}-file.json`);
    writeFileSync(left, 'left over');
    chownSync(left, GENERATOR, COVERS);
    chmodSync(left, 0o664);
    process.setegid?.(COVERS);
    process.seteuid?.(PROXY);
    try {
      replaceFile(path.join(dir, 'file.json'), 'new');
    } finally {
      process.seteuid?.(0);
      process.setegid?.(0);
    }
    expect(readdirSync(dir)).toEqual(['file.json']);
    expect(readFileSync(path.join(dir, 'file.json'), 'utf8')).toBe('new');
    const { uid, gid, mode } = statSync(path.join(dir, 'file.json'));
    expect([uid, gid, mode & 0o777]).toEqual([PROXY, COVERS, 0o640]);
  });
});
