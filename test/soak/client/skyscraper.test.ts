/** The module for Skyscraper, compiled with Qt against a stub of its base class, and run with the real API. */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { request } from 'undici';
import { expect, test } from 'vitest';
import { startExplorer } from '#test/site/explore/explored.ts';
import { makeFolder, ROOT, testKey } from '#test/support/product.ts';
import { serve } from '#test/support/servers/static-files.ts';

const execute = promisify(execFile);
const key = testKey(1);
const { proxy } = await startExplorer([key], '');
const program = path.join(makeFolder(), 'skyscraper');
const stub = path.join(import.meta.dirname, 'skyscraper-stub');
const { stdout: flags } = await execute('pkg-config', [
  '--cflags',
  '--libs',
  'Qt5Core',
  'Qt5Network',
]);
const folders = [`-I${stub}`, `-I${path.join(ROOT, 'client/examples/skyscraper')}`];
const source = path.join(stub, 'main.cpp');
const options = ['-std=c++17', '-fPIC', ...folders, source, '-o', program];
await execute('g++', [...options, ...flags.trim().split(/\s+/)]);

async function find(
  names: readonly string[],
  environment: Record<string, string>,
  url = proxy.url,
) {
  const env = { PATH: process.env.PATH, COVER_CATALOGUE_URL: `${url}/api/v1`, ...environment };
  const { stdout, stderr } = await execute(program, ['snes', ...names], { env });
  return { lines: stdout.trim().split('\n'), stderr };
}

test('it asks the tables of the program first, and sends other names as they are', async () => {
  const names = ['ct1.zip', 'Chrono Trigger (USA).sfc', 'turrican_v1.lha', 'Unheard Of.zip'];
  const { lines } = await find(names, { STUB_CREDS: key.key });
  expect(lines).toEqual([
    'Chrono Trigger ~ the arcade|Chrono Trigger|1995|Square|1|-1',
    'Chrono Trigger (USA).sfc|Chrono Trigger|1995|Square|1|-1',
    'turrican_v1.lha||||0|-1',
    'Unheard Of.zip||||0|-1',
  ]);
});

test('it reads the key from the environment as well, and waits for the limit', async () => {
  let requests = 0;
  const front = await serve(async ({ url = '', headers }, response) => {
    if (++requests === 1) return response.writeHead(429, { 'Retry-After': '1' }).end('{}');
    const { host, connection, ...others } = headers;
    const found = await request(proxy.url + url, { headers: others });
    response.writeHead(found.statusCode, found.headers);
    return response.end(Buffer.from(await found.body.arrayBuffer()));
  });
  const { lines } = await find(['Chrono Trigger.sfc'], { COVER_CATALOGUE_KEY: key.key }, front);
  expect(lines).toEqual(['Chrono Trigger.sfc|Chrono Trigger|1995|Square|1|-1']);
  expect(requests).toBe(2);
});

test('it ends the run after an error that would come again', async () => {
  const { lines, stderr } = await find(['Chrono Trigger.sfc'], { COVER_CATALOGUE_KEY: 'wrong' });
  expect(lines).toEqual(['Chrono Trigger.sfc||||0|0']);
  expect(stderr).toBe('Cover Catalogue: Invalid API key\n');
});
