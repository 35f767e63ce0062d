/** The generator and the proxy as two users, set up as in OPERATIONS.md. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  GENERATIONS,
  keyUsageFile,
  PROXY_FOLDER,
  UNFINISHED_PREFIX,
} from '../../../format/layout.ts';
import { currentId } from '../../../generations/generations.ts';
import { makeKeyUsage } from '../../../proxy/keys/key-usage.ts';
import { countUse, newUseCounts, USE, useCountsOf } from '../../../proxy/keys/use-counts.ts';
import {
  finish,
  generate,
  makeFolder,
  type ProxyProgram,
  ROOT,
  startProxyProgram,
} from '../../support/product.ts';
import { startGenerator } from '../../support/wholeness.ts';
import {
  as,
  COVERS,
  changeTitle,
  GENERATOR,
  HAS_TWO_USERS,
  key,
  listAll,
  makeDatabase,
  modesOf,
  PROXY,
  SHARED,
} from './folder-modes.ts';

const requestStats = (proxy: ProxyProgram) => proxy.get('/stats', key.key);

/** Without {@link HAS_TWO_USERS}, both programs run as the user of this process. */
describe(`generator and proxy as ${HAS_TWO_USERS ? 'two users' : 'one user'}`, () => {
  function install(dir: string, { uid }: typeof PROXY): void {
    mkdirSync(dir);
    if (HAS_TWO_USERS) chownSync(dir, uid, COVERS);
    chmodSync(dir, 0o2750);
  }

  /** The `install` commands of OPERATIONS.md, with the users, the group and the folder of this test. */
  function runInstallCommands(dir: string): void {
    const operations = readFileSync(path.join(ROOT, 'OPERATIONS.md'), 'utf8');
    const [section] = /## Users and file permissions\n.*?\n## /s.exec(operations) ?? [''];
    const commands = [...section.matchAll(/^ {4}(install -d .*)$/gm)].map(([, command]) =>
      command
        .replace('-o covers-generator', `-o ${GENERATOR.uid}`)
        .replace('-o covers-proxy', `-o ${PROXY.uid}`)
        .replace('-g covers', `-g ${COVERS}`)
        .replace('/srv/covers/snapshots', dir),
    );
    expect(commands).toHaveLength(2);
    for (const command of commands) execFileSync('sh', ['-c', command]);
  }

  function makeShared(): string {
    const parent = makeFolder();
    chmodSync(parent, 0o755);
    const dir = path.join(parent, 'snapshots');
    if (HAS_TWO_USERS) {
      runInstallCommands(dir);
    } else {
      install(dir, GENERATOR);
      install(path.join(dir, PROXY_FOLDER), PROXY);
    }
    return dir;
  }

  async function generateAs(user: typeof PROXY, url: string, dir: string) {
    const ended = await finish(startGenerator(url, dir, [], {}, as(user)));
    expect([ended.code, ended.stderr]).toEqual([0, expect.any(String)]);
    return ended;
  }

  /** Publishes in this process, and gives the files to a user. */
  async function publishAs(user: typeof PROXY | undefined, dir: string): Promise<void> {
    await generate(await makeDatabase(), dir);
    if (!HAS_TWO_USERS || user === undefined) return;
    for (const name of listAll(dir)) {
      if (!name.startsWith(PROXY_FOLDER)) chownSync(path.join(dir, name), user.uid, COVERS);
    }
  }

  /** Checks that the proxy owns only its own folder, and that the group may not write anything. */
  function expectOwners(dir: string): void {
    for (const name of listAll(dir)) {
      const { uid, gid, mode } = statSync(path.join(dir, name));
      expect([name, mode & 0o027]).toEqual([name, 0]);
      if (!HAS_TWO_USERS) continue;
      const isProxys = name.startsWith(PROXY_FOLDER);
      expect([name, uid, gid]).toEqual([name, isProxys ? PROXY.uid : GENERATOR.uid, COVERS]);
    }
  }

  test('the proxy serves, swaps to new generations, and reports key usage', async () => {
    const dir = makeShared();
    await publishAs(GENERATOR, dir);
    const proxy = await startProxyProgram(dir, {}, as(PROXY));
    const before = (await requestStats(proxy)).headers['x-snapshot'];
    expect(currentId(dir)).toBe(before);
    const url = await makeDatabase();
    await changeTitle(url, 'Another title');
    await generateAs(GENERATOR, url, dir);
    await proxy.logged('serving a generation', 2);
    expect((await requestStats(proxy)).headers['x-snapshot']).toBe(currentId(dir));
    expect(await proxy.stop()).toBe(0);
    expect(proxy.log()).not.toMatch(/"level":[45]0/);
    const [usage = ''] = listAll(dir).filter((name) => name.includes('key-usage'));
    const [command = '', ...args] = [...as(GENERATOR), 'cat', path.join(dir, usage)];
    expect(execFileSync(command, args, { encoding: 'utf8' })).toContain('"id":1');
    expectOwners(dir);
  });

  test('a proxy without its own folder still serves, and warns once', async () => {
    const dir = path.join(makeShared(), '..', 'without');
    install(dir, GENERATOR);
    await publishAs(GENERATOR, dir);
    if (!HAS_TWO_USERS) chmodSync(dir, 0o2550);
    const proxy = await startProxyProgram(dir, {}, as(PROXY));
    expect((await requestStats(proxy)).status).toBe(200);
    const warning = `Cannot write to ${path.join(dir, PROXY_FOLDER)}`;
    const { status, json } = await proxy.readyz();
    expect([status, json.faults]).toEqual([200, [expect.stringContaining(warning)]]);
    expect(await proxy.stop()).toBe(0);
    const lines = proxy.log().split('\n');
    const warnings = lines.filter((line) => line.includes(warning));
    expect(warnings).toHaveLength(1);
    expect(existsSync(path.join(dir, PROXY_FOLDER))).toBe(false);
    chmodSync(dir, 0o2750);
  });

  test('a proxy that may not read a file reports the file', async () => {
    const dir = path.join(makeShared(), '..', 'private');
    install(dir, GENERATOR);
    await publishAs(GENERATOR, dir);
    const id = currentId(dir);
    if (HAS_TWO_USERS) chownSync(dir, GENERATOR.uid, GENERATOR.gid);
    chmodSync(dir, 0o755);
    // With only one user, the modes must deny the owner.
    const [fileMode, folderMode] = HAS_TWO_USERS ? ['0600', '0700'] : ['0000', '0000'];
    chmodSync(path.join(dir, 'keys.json'), Number.parseInt(fileMode, 8));
    chmodSync(path.join(dir, GENERATIONS), Number.parseInt(folderMode, 8));
    const proxy = await startProxyProgram(dir, {}, as(PROXY));
    await proxy.logged('refused a generation');
    const { status, text, json } = await proxy.readyz();
    expect([status, json.ready]).toEqual([503, false]);
    for (const message of [proxy.log(), text]) {
      expect(message).toContain(`permission denied, open '${dir}/keys.json'`);
      expect(message).toContain('manifest.json');
      expect(message).toContain('permission denied');
    }
    // Applies the fix of OPERATIONS.md while the proxy runs. It checks a refused generation every 30 s, but
    // a new one at once.
    chmodSync(path.join(dir, GENERATIONS), 0o700);
    chmodSync(path.join(dir, 'keys.json'), 0o600);
    if (HAS_TWO_USERS) chownSync(dir, GENERATOR.uid, COVERS);
    chmodSync(dir, 0o2750);
    const url = await makeDatabase();
    await changeTitle(url, 'Another title');
    await generate(url, dir);
    await proxy.logged('serving a generation');
    expect(currentId(dir)).not.toBe(id);
    expect((await proxy.readyz()).json.snapshot).toBe(currentId(dir));
    await proxy.stop();
  });

  test('files of another user are not linked into a new generation', async () => {
    const dir = makeShared();
    await publishAs(undefined, dir);
    for (const name of listAll(dir)) {
      const file = path.join(dir, name);
      const isRecord = name.startsWith(`${GENERATIONS}/`) && statSync(file).isFile();
      if (isRecord) chmodSync(file, 0o644);
      else if (HAS_TWO_USERS && !name.startsWith(PROXY_FOLDER))
        chownSync(file, GENERATOR.uid, COVERS);
    }
    const url = await makeDatabase();
    await changeTitle(url, 'Another title');
    await generateAs(GENERATOR, url, dir);
    const newest = currentId(dir) as string;
    expect(modesOf(path.join(dir, GENERATIONS, newest))).toEqual(SHARED);
    if (!HAS_TWO_USERS) return;
    for (const name of listAll(path.join(dir, GENERATIONS, newest))) {
      const { uid } = statSync(path.join(dir, GENERATIONS, newest, name));
      expect([name, uid]).toEqual([name, GENERATOR.uid]);
    }
  });
});

test.skipIf(!HAS_TWO_USERS)(
  'an unfinished file of another user in the group is replaced',
  async () => {
    const dir = makeFolder();
    const name = keyUsageFile(8080);
    const folder = path.join(dir, PROXY_FOLDER);
    mkdirSync(folder);
    chmodSync(dir, 0o755);
    chownSync(folder, GENERATOR.uid, COVERS);
    chmodSync(folder, 0o2770);
    const left = path.join(folder, `${UNFINISHED_PREFIX}${process.pid}-${name}`);
    writeFileSync(left, 'left over');
    chownSync(left, GENERATOR.uid, COVERS);
    chmodSync(left, 0o664);
    process.setegid?.(COVERS);
    process.seteuid?.(PROXY.uid);
    try {
      const memory = newUseCounts();
      countUse(useCountsOf(memory, 0), USE.requests, 1);
      await makeKeyUsage(dir, 8080, () => new Map([[1, memory]]), Date.now).write();
    } finally {
      process.seteuid?.(0);
      process.setegid?.(0);
    }
    expect(readdirSync(folder)).toEqual([name]);
    expect(readFileSync(path.join(folder, name), 'utf8')).toContain('"id":1');
    const { uid, gid, mode } = statSync(path.join(folder, name));
    expect([uid, gid, mode & 0o777]).toEqual([PROXY.uid, COVERS, 0o640]);
  },
);
