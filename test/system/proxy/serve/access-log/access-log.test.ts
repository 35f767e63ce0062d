/** The access log of a running proxy: what its lines say, which requests it has, and where it goes. */
import { existsSync, mkdirSync, readFileSync, renameSync, statSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { currentId } from '#lib/generations/generations.ts';
import { checkLogFile } from '#proxy/serve/access-log/log-file.ts';
import { makeSampleSnapshots } from '#test/catalogue/snapshots.ts';
import { makeLog } from '#test/support/log.ts';
import type { Texts } from '#test/support/processes.ts';
import {
  makeFolder,
  NEVER,
  type OwnProxy,
  type Reply,
  runProgram,
  send,
  startProxy,
  startProxyProgram,
  testKey,
} from '#test/support/product.ts';

const key = testKey(7);
const game = '/games/snes/chrono-trigger';

const snapshots = await makeSampleSnapshots([key]);

interface Started {
  readonly proxy: OwnProxy;
  readonly file: string;
}

async function start(environment: Texts): Promise<Started> {
  const file = path.join(makeFolder(), 'access.log');
  const proxy = await startProxy(snapshots, { ACCESS_LOG_FILE: file, ...environment }, NEVER);
  return { file, proxy };
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
  const keyed = { 'x-api-key': key.key };
  const requests = {
    game: [`${game}?include=covers`, { ...keyed, 'x-forwarded-for': '2001:db8:0:1::2' }],
    head: ['/stats', keyed, 'HEAD'],
    unchanged: ['/stats', { ...keyed, 'if-none-match': '*' }],
    preflight: ['/stats', {}, 'OPTIONS'],
    file: ['/snapshot/files/games/snes.json', keyed],
    part: ['/snapshot/files/games/snes.json', { ...keyed, range: 'bytes=1-99' }],
    keyless: [game],
    nowhere: ['/nowhere', keyed],
    wrong: ['/stats?a=b', keyed],
    deleting: ['/stats', {}, 'DELETE'],
    gone: ['/stats', { ...keyed, 'x-snapshot': '000001-0123456789ab' }],
  } as const satisfies Record<string, readonly [target: string, headers?: Texts, method?: string]>;
  type Name = keyof typeof requests;
  const replies = new Map<Name, Reply>();
  let file: string;

  beforeAll(async () => {
    const started = await start({ ACCESS_LOG: 'all', TRUSTED_PROXIES: '127.0.0.1' });
    file = started.file;
    for (const [name, [target, headers = {}, method = 'GET']] of Object.entries(requests)) {
      const url = `${started.proxy.url}/api/v1${target}`;
      replies.set(name as Name, await send(url, { headers, method }));
    }
    // At its end, a proxy writes what is left.
    await started.proxy.stop();
  });

  const replyTo = (name: Name) => replies.get(name) as Reply;
  const lineOf = (name: Name) =>
    linesOf(file).find(({ id }) => id === replyTo(name).headers['x-request-id']);

  test('a line says who asked for what, and what came of it', () => {
    const line = lineOf('game');
    expect(line).toEqual({
      time: expect.stringMatching(/^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      address: '2001:db8:0:1::2',
      key: 7,
      method: 'GET',
      route: 'game',
      path: `/api/v1${game}`,
      query: 'include=covers',
      status: 200,
      refusal: null,
      bytes: replyTo('game').bytes.length,
      duration_ms: expect.any(Number),
      snapshot: currentId(snapshots),
    });
    expect(line.duration_ms).toBeGreaterThan(0);
    expect(statSync(file).mode & 0o777).toBe(0o640);
  });

  test.each([
    ['head', { route: 'stats', status: 200, bytes: 0, query: null }],
    ['unchanged', { route: 'stats', status: 304, bytes: 0, query: null }],
    ['preflight', { route: 'none', status: 204, bytes: 0, query: null }],
    ['file', { route: 'snapshot_file', status: 200 }],
    ['part', { route: 'snapshot_file', status: 206, bytes: 99 }],
    ['keyless', { status: 401, refusal: 'missing_key', key: null, route: 'none' }],
    ['nowhere', { status: 404, refusal: null, key: 7, route: 'none' }],
    ['wrong', { status: 400, key: 7, route: 'stats', query: '…' }],
    ['deleting', { status: 405, method: 'DELETE', key: null }],
    ['gone', { status: 412, key: 7, route: 'stats', snapshot: null }],
  ] as const)('the line of the request %s has its status, reason and bytes', (name, expected) => {
    expect(lineOf(name)).toMatchObject({ bytes: replyTo(name).bytes.length, ...expected });
  });

  test('there is one line for each request, and no key', () => {
    expect(linesOf(file)).toHaveLength(replies.size);
    expect(readFileSync(file, 'utf8')).not.toContain(key.key.slice(8));
  });
});

test.each([
  ['errors', 'has the requests with status 400 and above', ['none', 'none']],
  ['1/4', 'has the requests whose random number is below it', ['game', 'none']],
  ['off', 'writes nothing and does not touch the file', undefined],
])('%s %s', async (ACCESS_LOG, _, routes) => {
  const { proxy, file } = await start({ ACCESS_LOG });
  const random = vi.spyOn(Math, 'random');
  try {
    for (const [number, target] of [
      [0, game],
      [0.25, '/stats'],
      [0.2499, '/nowhere'],
      [0.99, '/nowhere'],
    ] as const) {
      random.mockReturnValue(number);
      await proxy.get(target, key.key);
    }
  } finally {
    random.mockRestore();
  }
  await proxy.stop();
  const logged = existsSync(file) ? linesOf(file).map(({ route }) => route) : undefined;
  expect(logged).toEqual(routes);
});

test('SIGHUP opens the file again, or keeps the open one if it cannot be opened', async () => {
  const folder = path.join(makeFolder(), 'logs');
  mkdirSync(folder);
  const file = path.join(folder, 'access.log');
  const proxy = await startProxyProgram(snapshots, { ACCESS_LOG: 'all', ACCESS_LOG_FILE: file });
  await proxy.get('/nowhere', key.key);
  renameSync(file, `${file}.1`);
  proxy.child.kill('SIGHUP');
  await proxy.logged('opened the access log again');
  await proxy.get(game, key.key);
  renameSync(folder, `${folder}-moved`);
  proxy.child.kill('SIGHUP');
  await proxy.logged('cannot open the access log again');
  await proxy.get('/stats', key.key);
  expect(await proxy.stop()).toBe(0);
  const files = ['access.log.1', 'access.log'].map((name) => path.join(`${folder}-moved`, name));
  expect(files.flatMap(linesOf).map(({ route }) => route)).toEqual(['none', 'game', 'stats']);
});

test('without a file, the lines go to stdout', async () => {
  const proxy = await startProxyProgram(snapshots, { ACCESS_LOG: 'all' });
  const stdout = makeLog();
  proxy.child.stdout?.setEncoding('utf8').on('data', stdout.write);
  await send(`${proxy.url}/api/v1/stats`);
  expect(JSON.parse(await stdout.logged('"id"'))).toMatchObject({ route: 'none', status: 401 });
  await proxy.stop();
});

test('a file that cannot be written is a fault of the configuration', async () => {
  const environment = {
    SNAPSHOTS_DIR: snapshots,
    ACCESS_LOG: 'all',
    ACCESS_LOG_FILE: makeFolder(),
  };
  const { code, stderr } = await runProgram('proxy', [], environment);
  expect(code).toBe(2);
  expect(stderr).toMatch(/^ACCESS_LOG_FILE is \/.+, which cannot be written: EISDIR/);
});

test.each([
  ['/nowhere/access.log', 'ENOENT'],
  ['/dev/null', 'not a regular file'],
])('neither can %s', (file, cause) => {
  expect(() => checkLogFile(file)).toThrow(cause);
});
