/** The access log of a running proxy: what its lines say, which requests it has, and where it goes. */
import { existsSync, readFileSync, renameSync, statSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { checkLogFile } from '../../../proxy/access-log/log-file.ts';
import { currentId } from '../../../store/generations/generations.ts';
import { makeSampleSnapshots } from '../../catalogue/snapshots.ts';
import {
  end,
  makeFolder,
  type ProxyProgram,
  runProgram,
  send,
  startProgram,
  startProxyProgram,
  testKey,
  until,
} from '../../support/product.ts';

const key = testKey(7);
const game = '/games/snes/chrono-trigger';
let snapshots: string;

beforeAll(async () => {
  snapshots = await makeSampleSnapshots([key]);
});

interface Started {
  readonly proxy: ProxyProgram;
  readonly file: string;
}

async function start(environment: Readonly<Record<string, string>>): Promise<Started> {
  const file = path.join(makeFolder(), 'access.log');
  return {
    file,
    proxy: await startProxyProgram(snapshots, { ACCESS_LOG_FILE: file, ...environment }),
  };
}

/** Every line of a log. A line that is not whole fails the test. */
// biome-ignore lint/suspicious/noExplicitAny: the values are compared in the tests
function linesOf(file: string): any[] {
  const text = readFileSync(file, 'utf8');
  expect(text === '' || text.endsWith('\n')).toBe(true);
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

describe('with all', () => {
  let proxy: ProxyProgram;
  let file: string;

  beforeAll(async () => {
    ({ proxy, file } = await start({ ACCESS_LOG: 'all', TRUSTED_PROXIES: '127.0.0.1' }));
  });
  /** Sends a request. @returns its line and its response */
  async function log(target: string, headers: Record<string, string> = {}, method = 'GET') {
    const reply = await send(`${proxy.url}/api/v1${target}`, { headers, method });
    const id = reply.headers['x-request-id'];
    const find = () => linesOf(file).find((line) => line.id === id);
    await until(() => find() !== undefined);
    return { line: find(), reply };
  }
  const keyed = { 'x-api-key': key.key };

  test('a line says who asked for what, and what came of it', async () => {
    const { line, reply } = await log(`${game}?include=covers`, {
      ...keyed,
      'x-forwarded-for': '2001:db8:0:1::2',
    });
    expect(line).toEqual({
      time: expect.stringMatching(/^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      id: expect.stringMatching(/^[0-9a-f]{24}$/),
      address: '2001:db8:0:1::2',
      key: 7,
      method: 'GET',
      route: 'game',
      path: `/api/v1${game}`,
      query: 'include=covers',
      status: 200,
      refusal: null,
      bytes: reply.bytes.length,
      duration_ms: expect.any(Number),
      snapshot: currentId(snapshots),
    });
    expect(Math.abs(Date.parse(line.time) - Date.now())).toBeLessThan(60_000);
    expect(line.duration_ms).toBeGreaterThan(0);
    expect(line.duration_ms).toBeLessThan(10_000);
    expect(statSync(file).mode & 0o777).toBe(0o640);
  });

  test('responses without a body have 0 bytes, and downloads those of the file', async () => {
    const { reply } = await log('/stats', keyed);
    const unchanged = { ...keyed, 'if-none-match': reply.headers.etag as string };
    const cases = [
      [await log('/stats', keyed, 'HEAD'), 'stats', 200, 0],
      [await log('/stats', unchanged), 'stats', 304, 0],
      [await log('/stats', {}, 'OPTIONS'), 'none', 204, 0],
    ] as const;
    for (const [{ line }, route, status, bytes] of cases) {
      expect(line).toMatchObject({ route, status, bytes, query: null });
    }
    const file = await log('/snapshot/files/games/snes.json', keyed);
    expect(file.reply.bytes.length).toBeGreaterThan(1_000);
    expect(file.line).toMatchObject({
      route: 'snapshot_file',
      bytes: file.reply.bytes.length,
      snapshot: currentId(snapshots),
    });
    const part = await log('/snapshot/files/games/snes.json', { ...keyed, range: 'bytes=1-99' });
    expect(part.line).toMatchObject({ status: 206, bytes: 99 });
  });

  test('refused and wrong requests have a reason or a status, and no key', async () => {
    const gone = { ...keyed, 'x-snapshot': '000001-0123456789ab' };
    const cases = [
      [await log(game), { status: 401, refusal: 'missing_key', key: null, route: 'none' }],
      [await log('/nowhere', keyed), { status: 404, refusal: null, key: 7, route: 'none' }],
      [await log('/stats?a=b', keyed), { status: 400, key: 7, route: 'stats', query: 'a=…' }],
      [await log('/stats', {}, 'DELETE'), { status: 405, method: 'DELETE', key: null }],
      [await log('/stats', gone), { status: 412, key: 7, route: 'stats', snapshot: null }],
    ] as const;
    for (const [{ line, reply }, expected] of cases) {
      expect(line).toMatchObject({ ...expected, bytes: reply.bytes.length });
    }
    expect(readFileSync(file, 'utf8')).not.toContain(key.key.slice(8));
  });
});

test('errors has the requests with status 400 and above', async () => {
  const { proxy, file } = await start({ ACCESS_LOG: 'errors' });
  await proxy.get(game, key.key);
  await proxy.get('/nowhere', key.key);
  await send(`${proxy.url}/api/v1/stats`);
  await proxy.stop();
  expect(linesOf(file).map(({ status }) => status)).toEqual([404, 401]);
});

test('a share has about as many requests', async () => {
  const { proxy, file } = await start({ ACCESS_LOG: '1/4' });
  for (let i = 0; i < 800; i++) await proxy.get(game, key.key);
  await proxy.stop();
  // Of 800 throws, the probability of a number outside of this is below one in a million.
  expect(linesOf(file).length).toBeGreaterThan(130);
  expect(linesOf(file).length).toBeLessThan(270);
});

test('several threads write whole lines, and SIGHUP loses none while the file is moved', async () => {
  const { proxy, file } = await start({ ACCESS_LOG: 'all', PROXY_THREADS: '3' });
  const files = [file];
  let sent = 0;
  for (let turn = 1; turn <= 4; turn++) {
    const requests = Array.from({ length: 150 }, () =>
      proxy.get(game, key.key, { connection: 'close' }),
    );
    sent += requests.length;
    renameSync(file, `${file}.${turn}`);
    files.push(`${file}.${turn}`);
    proxy.child.kill('SIGHUP');
    await Promise.all(requests);
    await until(() => existsSync(file));
  }
  expect(await proxy.stop()).toBe(0);
  const lines = files.flatMap(linesOf);
  expect(lines).toHaveLength(sent);
  expect(new Set(lines.map(({ id }) => id)).size).toBe(sent);
});

test('SIGHUP keeps the open file if it cannot be opened again', async () => {
  const { proxy, file } = await start({ ACCESS_LOG: 'all' });
  await proxy.get(game, key.key);
  renameSync(path.dirname(file), `${path.dirname(file)}-moved`);
  proxy.child.kill('SIGHUP');
  await until(() => proxy.log().includes('cannot open the access log again'));
  await proxy.get(game, key.key);
  expect(await proxy.stop()).toBe(0);
  expect(linesOf(path.join(`${path.dirname(file)}-moved`, 'access.log'))).toHaveLength(2);
});

test('off writes nothing, does not touch the file, and ignores SIGHUP', async () => {
  const { proxy, file } = await start({});
  proxy.child.kill('SIGHUP');
  expect((await proxy.get(game, key.key)).status).toBe(200);
  expect(await proxy.stop()).toBe(0);
  expect(existsSync(file)).toBe(false);
});

test('without a file, the lines go to stdout', async () => {
  const child = startProgram('proxy/main.ts', [], {
    SNAPSHOTS_DIR: snapshots,
    PORT: '0',
    ADMIN_PORT: '0',
    ACCESS_LOG: 'all',
  });
  let [stdout, stderr] = ['', ''];
  child.stdout?.setEncoding('utf8').on('data', (text) => {
    stdout += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text) => {
    stderr += text;
  });
  await until(() => stderr.includes('"listening"'));
  const { api } = JSON.parse(stderr.split('\n').find((line) => line.includes('listening')) ?? '');
  await send(`http://${api}/api/v1/stats`);
  await until(() => stdout.endsWith('\n'));
  expect(JSON.parse(stdout)).toMatchObject({ route: 'none', status: 401 });
  await end(child, 'SIGTERM');
});

test('a file that cannot be written is a fault of the configuration', async () => {
  const finished = await runProgram('proxy/main.ts', [], {
    SNAPSHOTS_DIR: snapshots,
    ACCESS_LOG: 'all',
    ACCESS_LOG_FILE: makeFolder(),
  });
  expect(finished.code).toBe(2);
  expect(finished.stderr).toMatch(/^ACCESS_LOG_FILE is \/.+, which cannot be written: EISDIR/);
});

test.each([
  ['/nowhere/access.log', 'ENOENT'],
  ['/dev/null', 'not a regular file'],
])('neither can %s', (file, cause) => {
  expect(() => checkLogFile(file)).toThrow(cause);
});
