/** The package of the product as npm installs it: below `node_modules`, where Node strips no types, and beside its dependencies. */
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { makeSampleSqlite } from '#test/catalogue/snapshots.ts';
import { atEndOfFile } from '#test/support/end-of-file.ts';
import { makeLog } from '#test/support/log.ts';
import { end, finish, makeFolder, ROOT } from '#test/support/product.ts';

test('generates, and serves with several threads', async () => {
  const folder = makeFolder();
  const packages = path.join(folder, 'a space/node_modules');
  const own = path.join(packages, 'cover-catalogue-api');
  mkdirSync(own, { recursive: true });
  spawnSync('npm', ['pack', '--pack-destination', folder], { cwd: ROOT });
  const [file = ''] = readdirSync(folder).filter((name) => name.endsWith('.tgz'));
  spawnSync('tar', ['-xzf', path.join(folder, file), '-C', own, '--strip-components=1']);
  for (const name of readdirSync(path.join(ROOT, 'node_modules'))) {
    if (!name.startsWith('.')) {
      symlinkSync(path.join(ROOT, 'node_modules', name), path.join(packages, name));
    }
  }
  const start = (...words: string[]) => {
    const child = spawn(path.join(own, 'bin/cover-catalogue'), words, { cwd: folder, env });
    atEndOfFile(() => end(child, 'SIGKILL'));
    return child;
  };
  const env = {
    PATH: '/usr/bin:/bin',
    DATABASE_URL: await makeSampleSqlite(),
    SNAPSHOTS_DIR: path.join(folder, 'snapshots'),
    ...{ PORT: '0', ADMIN_PORT: '0', PROXY_THREADS: '2' },
  };
  const { code, stdout } = await finish(start('generate', '--json'));
  expect([code, JSON.parse(stdout).outcome]).toEqual([0, 'published']);
  const proxy = start('proxy');
  const log = makeLog();
  proxy.stderr.setEncoding('utf8').on('data', log.write);
  proxy.once('exit', () => log.end('The proxy ended'));
  await log.logged('"threads":2,"msg":"listening"');
  expect(await end(proxy, 'SIGTERM')).toBe(0);
});
