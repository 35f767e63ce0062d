/** `cover-catalogue mirror` with a proxy: what it fetches, what it refuses, and how it continues. */

import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { runMirror as runMirrorCommand } from '../../../../commands/run-mirror.ts';
import { openApiSource } from '../../../../depot/pull/api-source.ts';
import { pull } from '../../../../depot/pull/pull.ts';
import { GoneError, type Source } from '../../../../depot/pull/source.ts';
import { TransferError } from '../../../../depot/transfer/try-again.ts';
import { makeKey } from '../../../../format/api-key.ts';
import { MANIFEST } from '../../../../format/layout.ts';
import {
  currentId,
  generationDir,
  idsOnDisk,
  readManifest,
} from '../../../../generations/generations.ts';
import {
  filesOf,
  inodesOf,
  makePatientClock,
  type Origin,
  runMirror,
  startOrigin,
} from '../../../support/mirrors.ts';
import { makeFolder, runCommand, runSnapshots } from '../../../support/product.ts';
import type { Change, OriginReply } from '../../../support/servers/faulty-origin.ts';
import { expectCurrentVerifies, newSnapshots, statusOf } from '../../../support/wholeness.ts';
import { noSpace, replaceFileFunction } from '../../generations/disk.ts';

const REFUSED = 3;
const LOCKED = 4;

let origin: Origin;

beforeAll(async () => {
  origin = await startOrigin();
});

afterEach(() => {
  origin.faulty.change = (reply) => reply;
  origin.faulty.isPlain = false;
  origin.faulty.requests.length = 0;
});

afterAll(() => origin.close());

const filePaths = () =>
  origin.faulty.requests
    .map(({ path: name }) => name.split('/snapshot/files/')[1])
    .filter((name) => name !== undefined);

/** Changes the replies for one file. */
function changeFile(
  name: string,
  change: (reply: OriginReply, times: number) => OriginReply,
): void {
  let times = 0;
  origin.faulty.isPlain = true;
  origin.faulty.change = (reply, { path: asked }) =>
    asked.endsWith(`/snapshot/files/${name}`) ? change(reply, ++times) : reply;
}

/** Changes the manifest. */
function changeManifest(change: (manifest: string) => string): void {
  origin.faulty.isPlain = true;
  origin.faulty.change = (reply, { path: asked }) =>
    asked.endsWith('/snapshot')
      ? { ...reply, body: Buffer.from(change(reply.body.toString('utf8'))) }
      : reply;
}

async function madeMirror(): Promise<string> {
  const to = newSnapshots();
  expect(await runMirror(origin, to)).toMatchObject({ code: 0 });
  origin.faulty.requests.length = 0;
  return to;
}

describe('a mirror', () => {
  test('has the same files under the same id, and nothing else', async () => {
    const to = newSnapshots();
    const { code, stdout, stderr } = await runMirror(origin, to);
    const id = currentId(origin.snapshotsDir) as string;
    expect([code, stdout], stderr).toEqual([0, expect.stringContaining(`Published ${id}: `)]);
    expect(await expectCurrentVerifies(to)).toBe(id);
    expect(filesOf(to, id)).toEqual(filesOf(origin.snapshotsDir, id));
    expect(readdirSync(to).toSorted()).toEqual(
      ['current', 'generations', 'lock', 'lock.holder', 'status.json'].toSorted(),
    );
    expect(statusOf(to)).toMatchObject({ outcome: 'published', error: null, id });
  });

  test('is readable only for its owner, or for the group of a shared folder', async () => {
    for (const [mode, file, folder] of [
      [0o700, 0o600, 0o700],
      [0o2750, 0o640, 0o2750],
    ] as const) {
      const to = path.join(makeFolder(), 'snapshots');
      mkdirSync(to);
      chmodSync(to, mode);
      expect(await runMirror(origin, to)).toMatchObject({ code: 0 });
      const dir = generationDir(to, currentId(to) as string);
      const modeOf = (name: string) => statSync(path.join(dir, name)).mode & 0o7777;
      expect(['', 'games', 'index'].map(modeOf)).toEqual([folder, folder, folder]);
      const files = readdirSync(dir, { recursive: true, encoding: 'utf8' });
      const modes = files.filter((name) => name.includes('.')).map(modeOf);
      expect([...new Set(modes)]).toEqual([file]);
    }
  });

  test('fetches nothing but the manifest if nothing is new', async () => {
    const to = await madeMirror();
    // As after a kill between publishing and removing it.
    mkdirSync(path.join(to, 'pull'));
    const before = origin.faulty.sent();
    const { code, stdout } = await runMirror(origin, to);
    expect([code, stdout]).toEqual([0, expect.stringContaining('Nothing is newer than')]);
    expect(origin.faulty.requests.map(({ path: name }) => name)).toEqual(['/api/v1/snapshot']);
    expect(origin.faulty.sent()).toBe(before);
    expect(existsSync(path.join(to, 'pull'))).toBe(false);
    expect(statusOf(to)).toMatchObject({ outcome: 'unchanged' });
  });

  test('fetches only the files that changed, and links the others', async () => {
    const to = await madeMirror();
    const before = currentId(to) as string;
    const [old, inodes] = [filesOf(to, before), inodesOf(to, before)];
    const after = await origin.publishChange();
    expect(await runMirror(origin, to)).toMatchObject({ code: 0 });
    const now = filesOf(to, after);
    const changed = [...now.keys()].filter(
      (name) => !old.get(name)?.equals(now.get(name) as Buffer),
    );
    expect(filePaths().toSorted()).toEqual(changed.filter((name) => name !== 'manifest.json'));
    for (const [name, inode] of inodesOf(to, after)) {
      expect(inodes.get(name) === inode, name).toBe(!changed.includes(name));
    }
    expect(idsOnDisk(to)).toEqual([after]);
  });

  test('that is damaged fetches only what is damaged', async () => {
    const to = await madeMirror();
    const id = currentId(to) as string;
    truncateSync(path.join(generationDir(to, id), 'stats.json'), 5);
    writeFileSync(path.join(generationDir(to, id), 'search.json'), 'x');
    expect(await runMirror(origin, to)).toMatchObject({ code: 0 });
    expect(filePaths().toSorted()).toEqual(['search.json', 'stats.json']);
    expect(await expectCurrentVerifies(to)).toBe(id);
    expect(readdirSync(path.join(to, 'generations'))).toEqual([id]);
  });

  test('can be made while another one is running, but not in the same folder', async () => {
    const to = newSnapshots();
    const all = await Promise.all([runMirror(origin, to), runMirror(origin, to)]);
    expect(all.map(({ code }) => code).toSorted()).toEqual([0, LOCKED]);
    await expectCurrentVerifies(to);
  });
});

describe('a transfer', () => {
  const searches = () =>
    origin.faulty.requests.filter(({ path: name }) => name.endsWith('/search.json'));

  test('that is cut continues where it ended', async () => {
    const to = newSnapshots();
    changeFile('search.json', (reply, times) =>
      times === 1 ? { ...reply, cutAfter: 1000 } : reply,
    );
    const { code, stderr } = await runMirror(origin, to);
    expect(code, stderr).toBe(0);
    const [first, second, ...others] = searches();
    expect(others).toEqual([]);
    expect(first?.headers.range).toBeUndefined();
    expect(second?.headers.range).toBe('bytes=1000-');
    expect(second?.headers['if-range']).toMatch(/^"[0-9a-f]{64}"$/);
    await expectCurrentVerifies(to);
  });

  test('that is always cut ends the run, and the next run continues', async () => {
    const to = newSnapshots();
    changeFile('search.json', (reply, times) => ({ ...reply, cutAfter: times === 1 ? 5000 : 0 }));
    const clock = makePatientClock();
    const { code, stderr } = await runMirror(origin, to, [], clock);
    expect(code).toBe(1);
    expect(stderr).toMatch(/search\.json: .*cut.* \(tried 5 times\)/);
    // The first try made progress.
    expect(clock.pauses).toEqual([500, 1000, 2000, 4000]);
    expect(currentId(to)).toBeUndefined();
    origin.faulty.change = (reply) => reply;
    origin.faulty.requests.length = 0;
    expect(await runMirror(origin, to)).toMatchObject({ code: 0 });
    expect(searches().map(({ headers }) => headers.range)).toEqual(['bytes=5000-']);
    await expectCurrentVerifies(to);
  });

  test('waits as long as a reply with 429 or 503 asks', async () => {
    const to = newSnapshots();
    const errors = [429, 503];
    changeFile('search.json', (reply) => {
      const status = errors.shift();
      if (status === undefined) return reply;
      return { status, headers: { 'retry-after': '7' }, body: Buffer.from('{"error":"Wait"}') };
    });
    const clock = makePatientClock();
    expect(await runMirror(origin, to, ['--parallel', '1'], clock)).toMatchObject({ code: 0 });
    expect(clock.pauses).toEqual([7000, 7000]);
    await expectCurrentVerifies(to);
  });

  test('waits while the key is over its limit, also if another transfer was refused', async () => {
    const clock = makePatientClock();
    const { key, faulty } = origin;
    const source = openApiSource({ url: faulty.url, key, stallSeconds: 30, clock });
    faulty.change = () => ({ status: 429, headers: { 'retry-after': '9' }, body: Buffer.from('') });
    await expect(source.manifest(undefined)).rejects.toThrow(TransferError);
    faulty.change = (reply) => reply;
    expect(clock.pauses).toEqual([]);
    await source.manifest(undefined);
    expect(clock.pauses).toEqual([9000]);
    source.close();
  });
});

test('a generation that is replaced during a run makes it continue with the newer one', async () => {
  let files = 0;
  let publishing: Promise<string> | undefined;
  const sent = new Map<string, number>();
  const refused: number[] = [];
  origin.faulty.change = async (reply, { path: asked }) => {
    if (!asked.includes('/files/')) return reply;
    if (++files >= 8) {
      publishing ??= origin.publishChange();
      await publishing;
    }
    const version = `${asked} ${reply.headers.etag}`;
    if (reply.status === 200) sent.set(version, (sent.get(version) ?? 0) + 1);
    else refused.push(reply.status);
    return reply;
  };
  const to = newSnapshots();
  const { code, stderr } = await runMirror(origin, to);
  expect(code, stderr).toBe(0);
  const newer = currentId(origin.snapshotsDir) as string;
  expect(await expectCurrentVerifies(to)).toBe(newer);
  expect(filesOf(to, newer)).toEqual(filesOf(origin.snapshotsDir, newer));
  expect([...new Set(refused)]).toEqual([412]);
  // What both generations have was fetched once.
  expect([...new Set(sent.values())]).toEqual([1]);
});

describe('nothing is published if the source', () => {
  async function expectRefusal(code: number, ...texts: (string | RegExp)[]): Promise<string> {
    const to = newSnapshots();
    const run = await runMirror(origin, to);
    expect([run.code, run.stdout], run.stderr).toEqual([code, '']);
    expect(run.stderr).not.toMatch(/^\s+at /m);
    for (const text of texts) expect(run.stderr).toMatch(text);
    expect(currentId(to)).toBeUndefined();
    expect(idsOnDisk(to)).toEqual([]);
    expect(statusOf(to)).toMatchObject({ outcome: code === REFUSED ? 'refused' : 'failed' });
    return to;
  }

  const replaced = (change: (body: Buffer) => Buffer) => (reply: OriginReply) => ({
    ...reply,
    body: change(reply.body),
  });

  test('has another file than the manifest says', async () => {
    changeFile(
      'stats.json',
      replaced((body) => Buffer.from(body).fill('x', 10, 11)),
    );
    const to = await expectRefusal(
      REFUSED,
      /stats\.json: its SHA-256 at http\S+ is [0-9a-f]{64}, but the manifest says [0-9a-f]{64}\. Nothing is published/,
    );
    origin.faulty.change = (reply) => reply;
    origin.faulty.requests.length = 0;
    expect(await runMirror(origin, to)).toMatchObject({ code: 0 });
    expect(filePaths()).toContain('stats.json');
    await expectCurrentVerifies(to);
  });

  test('has a shorter file than the manifest says', async () => {
    changeFile(
      'stats.json',
      replaced((body) => body.subarray(0, 20)),
    );
    await expectRefusal(REFUSED, /stats\.json: its SHA-256 .* \(20 bytes instead of \d+\)/);
  });

  test('sends more than the manifest says', async () => {
    changeFile(
      'stats.json',
      replaced((body) => Buffer.concat([body, Buffer.from('x')])),
    );
    await expectRefusal(REFUSED, /stats\.json: http\S+ sends more than the \d+ bytes/);
  });

  test('sends without end', async () => {
    changeFile('stats.json', ({ headers: { 'content-length': _, ...headers }, ...reply }) => ({
      ...reply,
      headers,
      body: Buffer.alloc(5_000_000),
    }));
    await expectRefusal(REFUSED, /stats\.json: http\S+ sends more than the \d+ bytes/);
  });

  test('has another format version', async () => {
    changeManifest((text) => text.replace(/"format_version": \d+/, '"format_version": 99'));
    await expectRefusal(REFUSED, /format version 99; this program reads version \d+/);
  });

  test.each(['../evil', 'games/../../evil', '/etc/passwd', 'index/.hidden', 'a/b/c'])(
    'has a manifest with the path %s',
    async (name) => {
      changeManifest((text) => text.replace('"stats.json"', JSON.stringify(name)));
      await expectRefusal(REFUSED, 'manifest.json is damaged', name);
    },
  );

  test('has a manifest whose id does not fit', async () => {
    changeManifest((text) => text.replace(/"games": (\d+)/, '"games": 7'));
    await expectRefusal(REFUSED, '"id" does not fit the content');
  });

  test('has no manifest, but something else', async () => {
    changeManifest(() => '<html>');
    await expectRefusal(REFUSED, 'it is not JSON');
  });

  test('redirects', async () => {
    origin.faulty.change = () => ({
      status: 302,
      headers: { location: 'https://elsewhere.example/' },
      body: Buffer.alloc(0),
    });
    await expectRefusal(1, /redirects to https:\/\/elsewhere\.example\//);
  });

  test('does not answer at all', async () => {
    origin.faulty.change = (reply) => ({ ...reply, cutAfter: 0, headers: {} });
    await expectRefusal(1, /read the manifest: /);
  });

  test('answers every file with 412, and the run gives up', async () => {
    const id = currentId(origin.snapshotsDir) as string;
    const manifest = readFileSync(path.join(generationDir(origin.snapshotsDir, id), MANIFEST));
    const clock = makePatientClock();
    let manifests = 0;
    const source: Source = {
      name: 'an origin',
      canAdvance: true,
      async manifest() {
        manifests++;
        return manifest;
      },
      async file() {
        throw new GoneError('an origin has replaced this generation (412).');
      },
      received: () => 0,
      close() {},
    };
    const to = newSnapshots();
    const report = { advance() {}, step() {}, warn() {} };
    const pulling = pull(source, {
      snapshotsDir: to,
      parallel: 4,
      isForced: false,
      clock,
      report,
    });
    await expect(pulling).rejects.toThrow(GoneError);
    expect([manifests, clock.pauses.length]).toEqual([101, 100]);
    expect(idsOnDisk(to)).toEqual([]);
  });

  test('refuses the key', async () => {
    const to = newSnapshots();
    const wrong = path.join(makeFolder(), 'key');
    writeFileSync(wrong, makeKey());
    const run = await runMirror(origin, to, ['--key-file', wrong]);
    expect([run.code, run.stdout]).toEqual([1, '']);
    expect(run.stderr).toMatch(/401 \(Invalid API key\)\. Check the API key/);
  });
});

describe('an older generation', () => {
  test('is refused, and published with --force', async () => {
    const to = newSnapshots();
    const old: Change = await recordOrigin();
    await origin.publishChange();
    expect(await runMirror(origin, to)).toMatchObject({ code: 0 });
    const current = currentId(to);
    origin.faulty.change = old;
    const refused = await runMirror(origin, to);
    expect(refused.code).toBe(REFUSED);
    expect(refused.stderr).toMatch(/does not come after the current generation \d+-\w+.*--force/);
    expect(currentId(to)).toBe(current);
    expect(await runMirror(origin, to, ['--force'])).toMatchObject({ code: 0 });
    expect(await expectCurrentVerifies(to)).not.toBe(current);
    // And forward again.
    origin.faulty.change = (reply) => reply;
    expect(await runMirror(origin, to)).toMatchObject({ code: 0 });
    expect(currentId(to)).toBe(current);
  });

  /** Replies as the origin does now, also after it has published again. */
  async function recordOrigin(): Promise<Change> {
    const id = await origin.settle();
    const files = filesOf(origin.snapshotsDir, id);
    return (reply, { path: asked }) => {
      const [, name = MANIFEST] = asked.split('/snapshot/files/');
      return { ...reply, headers: {}, status: 200, body: files.get(name) as Buffer };
    };
  }
});

test('a mirror that is held publishes nothing', async () => {
  const to = await madeMirror();
  expect(await runSnapshots(to, 'hold')).toMatchObject({ code: 0 });
  const before = currentId(to);
  await origin.publishChange();
  const run = await runMirror(origin, to);
  expect(run.code).toBe(REFUSED);
  expect(run.stderr).toContain('Publishing is held');
  expect(currentId(to)).toBe(before);
});

test('a full disk publishes nothing, and the next run continues', async () => {
  const to = newSnapshots();
  const { files } = readManifest(generationDir(origin.snapshotsDir, await origin.settle()));
  const { sha256 = '' } = files.find(({ path: name }) => name === 'search.json') ?? {};
  const restore = replaceFileFunction('writeSync', (write, file, ...rest) => {
    if (!file.includes(sha256)) return write(...rest);
    throw noSpace();
  });
  const run = await runMirror(origin, to).finally(restore);
  expect(run.code).toBe(1);
  expect(run.stderr).toMatch(/ENOSPC.*Free space on the disk/);
  expect(idsOnDisk(to)).toEqual([]);
  origin.faulty.requests.length = 0;
  expect(await runMirror(origin, to)).toMatchObject({ code: 0 });
  expect(filePaths()).toContain('search.json');
  expect(filePaths()).not.toContain('index/games.bin');
  await expectCurrentVerifies(to);
});

describe('the arguments', () => {
  const run = (words: readonly string[], variables: Readonly<Record<string, string>> = {}) =>
    runCommand(runMirrorCommand, words, variables);

  test.each([
    [['--to', 'x'], /--from is missing/],
    [['--from', 'ftp://x'], /--from must be an http or https address/],
    [['--from', 'http://x/api/v1'], /The API key is missing/],
    [['--from', 'http://x', '--key', 'a', '--key-file', 'b'], /--key and --key-file are both/],
    [['--from', 'http://x', '--key-file', '/no/such'], /--key-file cannot be read/],
    [['--from', 'http://x', '--parallel', '99'], /--parallel must be a whole number from 1 to 16/],
  ])('%j are refused with exit code 2', async (args, text) => {
    const { code, stdout, stderr } = await run(
      args,
      args.includes('99') ? { MIRROR_KEY: makeKey() } : {},
    );
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(text);
  });

  test('a key with a typing error is refused, and no message contains it', async () => {
    const mistyped = makeKey().replace(/.$/, (last) => (last === 'a' ? 'b' : 'a'));
    const { code, stderr } = await run(['--from', 'http://x'], { MIRROR_KEY: mistyped });
    expect(code).toBe(2);
    expect(stderr).toContain('MIRROR_KEY does not hold an API key');
    expect(stderr).not.toContain(mistyped);
  });

  test('a key can come from MIRROR_KEY, and is in no file of the mirror', async () => {
    const to = newSnapshots();
    const { code, stdout, stderr } = await run(['--from', origin.faulty.url], {
      MIRROR_KEY: origin.key,
      SNAPSHOTS_DIR: to,
    });
    expect(code, stderr).toBe(0);
    expect(stdout + stderr).not.toContain(origin.key);
    const id = currentId(to) as string;
    const texts = [...filesOf(to, id).values(), readFileSync(path.join(to, 'status.json'))];
    expect(texts.some((text) => text.includes(origin.key))).toBe(false);
  });
});
