/**
 * Pushing generations to a store: what is sent, which pointer is written, and what is removed. The
 * stores are a folder and S3.
 */
import { hash } from 'node:crypto';
import { copyFileSync, cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type PushOptions, push } from '../../../../depot/push/push.ts';
import { pushChanges } from '../../../../depot/push/push-changes.ts';
import type { PushEnding } from '../../../../depot/push/start-push.ts';
import { contentOf } from '../../../../depot/remote/content.ts';
import { openRemote } from '../../../../depot/remote/open-remote.ts';
import type { RemoteStore } from '../../../../depot/remote/remote.ts';
import { checkPointer } from '../../../../depot/signatures/check-pointer.ts';
import { makeKeyPair, readSigningKey } from '../../../../depot/signatures/keys.ts';
import { remoteDelta, remoteFile, remoteManifest } from '../../../../format/remote-layout.ts';
import { currentId, generationDir } from '../../../../generations/generations.ts';
import { rollbackTo } from '../../../../generations/rollback.ts';
import { makeTasks } from '../../../../program/admin/tasks.ts';
import { seededCatalogue } from '../../../catalogue/seeded.ts';
import { makeLog } from '../../../support/log.ts';
import { generate, makeFolder } from '../../../support/product.ts';
import { applyDelta, readGeneration, readObject, readPointer } from '../../../support/remotes.ts';
import {
  type ChangingDatabase,
  changing,
  makeChanging,
  newSnapshots,
} from '../../../support/wholeness.ts';

const HOUR = 3_600_000;
const STALL = { stallSeconds: 5 };

let database: ChangingDatabase;
let snapshotsDir: string;
let remote: RemoteStore;
let warnings: string[];

let template: ChangingDatabase;
let published: string;

beforeAll(async () => {
  template = await makeChanging(seededCatalogue({ games: 40, seed: 8, platforms: 3 }));
  published = newSnapshots();
  await generate(template.url, published);
});

beforeEach(() => {
  const file = path.join(makeFolder(), 'catalogue.db');
  copyFileSync(template.url.slice('sqlite:'.length), file);
  database = changing(`sqlite:${file}`);
  snapshotsDir = newSnapshots();
  cpSync(published, snapshotsDir, { recursive: true, verbatimSymlinks: true });
  remote = openRemote(makeFolder(), STALL);
  warnings = [];
});

afterEach(() => remote.close());

function pushNow(options: Partial<PushOptions> = {}) {
  return push(remote, {
    snapshotsDir,
    signingKeys: [],
    publicKeys: [],
    isForced: false,
    parallel: 4,
    graceMs: HOUR,
    report: { advance() {}, step() {}, warn: (text) => warnings.push(text) },
    ...options,
  });
}

async function publishChange(): Promise<string> {
  await database.change();
  await generate(database.url, snapshotsDir);
  return currentId(snapshotsDir) ?? '';
}

const newKey = () => readSigningKey(makeKeyPair().privateKey);

describe('a push', () => {
  test('sends a generation that can be read back, byte by byte', async () => {
    const started = Date.now();
    const result = await pushNow();
    expect(result).toMatchObject({ outcome: 'pushed', present: 0, differences: 0, removed: 0 });
    const { pointer, manifest, files } = await readGeneration(remote);
    expect(pointer.id).toBe(currentId(snapshotsDir));
    const dir = generationDir(snapshotsDir, pointer.id);
    for (const { path: name } of manifest.files) {
      expect(files.get(name)?.equals(readFileSync(path.join(dir, name)))).toBe(true);
    }
    // In whole seconds.
    const publishedAt = Date.parse(pointer.published_at);
    expect(publishedAt).toBeGreaterThan(started - 1000);
    expect(publishedAt).toBeLessThanOrEqual(Date.now());
    expect(warnings).toEqual([]);
  });

  test('sends nothing twice', async () => {
    await pushNow();
    const sent = remote.traffic().sent;
    const before = await readPointer(remote);
    expect(await pushNow()).toMatchObject({ outcome: 'unchanged', sent: 0, differences: 0 });
    expect(remote.traffic().sent).toBe(sent);
    expect(await readPointer(remote)).toEqual(before);
  });

  test('after a change sends only what changed, and deltas from which it can be made', async () => {
    await pushNow();
    const before = await readGeneration(remote);
    const id = await publishChange();
    const result = await pushNow();
    const after = await readGeneration(remote);
    expect(after.pointer.id).toBe(id);
    expect(after.pointer.sequence).toBeGreaterThan(before.pointer.sequence);
    expect(result.present).toBeGreaterThan(0);
    expect(result.sent).toBeLessThan(5);
    expect(after.list.differences.length).toBeGreaterThan(0);
    for (const { from, to, stored_size } of after.list.differences) {
      const { path: name = '' } = after.manifest.files.find((file) => file.sha256 === to) ?? {};
      const earlier = before.files.get(name) ?? Buffer.alloc(0);
      const made = await applyDelta(remote, earlier, to);
      expect(made.equals(after.files.get(name) ?? Buffer.alloc(0))).toBe(true);
      expect((await readObject(remote, remoteDelta(from, to)))?.length).toBe(stored_size);
    }
  });

  test('continues what another one began, and replaces what is empty', async () => {
    await pushNow();
    const { manifest, pointer } = await readGeneration(remote);
    const [first, second] = manifest.files;
    await remote.remove('current.json');
    await remote.remove(remoteManifest(pointer.id));
    await remote.remove(remoteFile(first?.sha256 ?? ''));
    await remote.put(remoteFile(second?.sha256 ?? ''), contentOf(''));
    expect(await pushNow()).toMatchObject({ outcome: 'pushed', sent: 2 });
    expect((await readGeneration(remote)).pointer).toEqual(pointer);
  });

  test('replaces what has disappeared from a store whose pointer is current', async () => {
    await pushNow();
    const { manifest } = await readGeneration(remote);
    await remote.remove(remoteFile(manifest.files[0]?.sha256 ?? ''));
    expect(await pushNow()).toMatchObject({ outcome: 'pushed', sent: 1 });
    await readGeneration(remote);
    for (const change of ['missing', 'changed']) {
      const name = remoteManifest(manifest.id);
      await (change === 'missing' ? remote.remove(name) : remote.put(name, contentOf('{}')));
      expect(await pushNow()).toMatchObject({ outcome: 'pushed', sent: 0 });
      await readGeneration(remote);
    }
  });

  test('never sends a damaged file, and leaves the pointer as it was', async () => {
    await pushNow();
    const before = await readPointer(remote);
    const id = await publishChange();
    const index = path.join(generationDir(snapshotsDir, id), 'index/games.bin');
    const bytes = readFileSync(index);
    bytes[100] = (bytes[100] ?? 0) ^ 1;
    // A new file: the old one may be a link of the generation before.
    rmSync(index);
    writeFileSync(index, bytes);
    await expect(pushNow()).rejects.toThrow(/index\/games\.bin is damaged: .*snapshot verify/);
    expect(await readPointer(remote)).toEqual(before);
    await readGeneration(remote);
  });

  test('without a generation is an error that says so', async () => {
    snapshotsDir = makeFolder();
    await expect(pushNow()).rejects.toThrow(/There is no generation in .* yet/);
  });

  test('to a web server is refused', async () => {
    remote = openRemote('https://files.example.org', STALL);
    await expect(pushNow()).rejects.toThrow(/can only be read/);
  });
});

describe('the pointer', () => {
  test('of a rollback has a higher sequence, and the new generation', async () => {
    const older = currentId(snapshotsDir) ?? '';
    await pushNow();
    await publishChange();
    const { pointer: before } = await pushNow();
    const { id } = await rollbackTo(snapshotsDir, older, { withTakenDown: false, warn() {} });
    const { pointer } = await pushNow();
    expect(pointer.id).toBe(id);
    expect(pointer.sequence).toBeGreaterThan(before.sequence);
    expect(checkPointer(pointer, [], before)).toBeUndefined();
    await readGeneration(remote);
  });

  test('is the same in every store', async () => {
    const { pointer } = await pushNow();
    remote.close();
    remote = openRemote(makeFolder(), STALL);
    expect((await pushNow()).pointer).toEqual(pointer);
  });

  test('has a higher sequence in a store that has a pointer of another folder', async () => {
    const { pointer: before } = await pushNow();
    snapshotsDir = newSnapshots();
    await database.change();
    await generate(database.url, snapshotsDir);
    const { pointer } = await pushNow();
    expect(pointer.sequence).toBeGreaterThan(before.sequence);
  });

  test('does not begin again when store and folder are lost', async () => {
    const { pointer: before } = await pushNow();
    rmSync(path.join(snapshotsDir, 'current.json'));
    remote.close();
    remote = openRemote(makeFolder(), STALL);
    expect((await pushNow()).pointer.sequence).toBeGreaterThan(before.sequence);
  });

  test('that is damaged in the store or the folder is replaced', async () => {
    await pushNow();
    await remote.put('current.json', contentOf('{'));
    writeFileSync(path.join(snapshotsDir, 'current.json'), '{');
    expect(await pushNow()).toMatchObject({ outcome: 'pushed', sent: 0 });
    await readGeneration(remote);
  });

  test('is not replaced by the older one of a folder that lags behind', async () => {
    await pushNow();
    const lagging = newSnapshots();
    await database.change();
    await generate(database.url, lagging);
    const { pointer: newer } = await pushNow({ snapshotsDir: lagging });
    await expect(pushNow()).rejects.toThrow(
      new RegExp(`The store has a newer pointer, to ${newer.id}`),
    );
    expect(await readPointer(remote)).toEqual(newer);
    const { pointer } = await pushNow({ isForced: true });
    expect(pointer.id).toBe(currentId(snapshotsDir));
    expect(pointer.sequence).toBeGreaterThan(newer.sequence);
  });
});

describe('a signature', () => {
  test('is made by every signing key, and stays the same', async () => {
    const [a, b] = [newKey(), newKey()];
    const { pointer } = await pushNow({ signingKeys: [a, b] });
    for (const key of [a, b]) {
      expect(checkPointer(pointer, [key.verifyingKey], undefined)).toBeUndefined();
    }
    expect(await pushNow({ signingKeys: [a, b] })).toMatchObject({ outcome: 'unchanged' });
    expect((await pushNow({ signingKeys: [a] })).pointer).toEqual(pointer);
  });

  test('with a new key needs a new pointer', async () => {
    const [a, b] = [newKey(), newKey()];
    const { pointer: before } = await pushNow({ signingKeys: [a] });
    const { pointer } = await pushNow({ signingKeys: [b], publicKeys: [a.verifyingKey] });
    expect(pointer.sequence).toBeGreaterThan(before.sequence);
    expect(checkPointer(pointer, [b.verifyingKey], before)).toBeUndefined();
  });

  test('is not lost: an unsigned push over a signed one is refused', async () => {
    const key = newKey();
    const { pointer } = await pushNow({ signingKeys: [key] });
    await publishChange();
    await expect(pushNow()).rejects.toThrow(/was signed, and .* cannot be signed/);
    expect(await readPointer(remote)).toEqual(pointer);
    const unsigned = await pushNow({ isForced: true });
    expect(unsigned.pointer.signatures).toEqual([]);
  });

  test('travels along when a replica pushes on, which has no key', async () => {
    const key = newKey();
    const { pointer } = await pushNow({ signingKeys: [key] });
    const next = openRemote(makeFolder(), STALL);
    await push(next, {
      snapshotsDir,
      signingKeys: [],
      publicKeys: [key.verifyingKey],
      isForced: false,
      parallel: 2,
      graceMs: HOUR,
      report: { advance() {}, step() {}, warn() {} },
    });
    expect(await readPointer(next)).toEqual(pointer);
    expect(checkPointer(pointer, [key.verifyingKey], undefined)).toBeUndefined();
    next.close();
  });

  test('protects the sequence: somebody who cannot sign cannot raise it', async () => {
    const key = newKey();
    const { pointer } = await pushNow({ signingKeys: [key] });
    const forged = { ...pointer, sequence: Number.MAX_SAFE_INTEGER };
    await remote.put('current.json', contentOf(JSON.stringify(forged)));
    expect((await pushNow({ signingKeys: [key] })).pointer).toEqual(pointer);
    expect(await readPointer(remote)).toEqual(pointer);
  });
});

describe('old objects', () => {
  test('are removed after the time of grace, even if there is nothing to push', async () => {
    expect((await pushNow()).againInMs).toBeUndefined();
    const { pointer, files } = await readGeneration(remote);
    await publishChange();
    const { removed: none, againInMs = 0 } = await pushNow();
    expect(none).toBe(0);
    expect(againInMs).toBeGreaterThan(0);
    expect(againInMs).toBeLessThanOrEqual(HOUR);
    expect(await readObject(remote, remoteManifest(pointer.id))).toBeDefined();

    const all = (await remote.list('')).length;
    const { outcome, removed, againInMs: again } = await pushNow({ graceMs: 0 });
    expect([outcome, again]).toEqual(['unchanged', undefined]);
    expect((await remote.list('')).length).toBe(all - removed);
    expect(await readObject(remote, remoteManifest(pointer.id))).toBeUndefined();
    const after = await readGeneration(remote);
    const kept = new Set(after.manifest.files.map(({ sha256 }) => sha256));
    for (const content of files.values()) {
      const sha256 = hash('sha256', content);
      const isThere = (await readObject(remote, remoteFile(sha256))) !== undefined;
      expect(isThere).toBe(kept.has(sha256));
    }
  });

  test('stay while another generation is being pushed, and are removed when that is replaced', async () => {
    await pushNow();
    const foreign = newSnapshots();
    await database.change();
    await generate(database.url, foreign);
    const id = currentId(foreign) ?? '';
    // A push writes the manifest first. This one is killed then.
    const manifest = readFileSync(path.join(generationDir(foreign, id), 'manifest.json'));
    await remote.put(remoteManifest(id), contentOf(manifest));
    expect(await pushNow({ graceMs: 0 })).toMatchObject({ removed: 0 });
    await publishChange();
    await pushNow();
    expect((await pushNow({ graceMs: 0 })).removed).toBeGreaterThan(0);
    expect(await readObject(remote, remoteManifest(id))).toBeUndefined();
  });

  test('stay if a manifest cannot be read, with a warning', async () => {
    await pushNow();
    const foreign = '000099-0123456789ab';
    await remote.put(remoteManifest(foreign), contentOf('{'));
    await remote.put(remoteFile('f'.repeat(64)), contentOf('x'));
    expect(await pushNow({ graceMs: 0 })).toMatchObject({ removed: 0 });
    expect(warnings.join()).toMatch(
      /was not cleaned up, and may still .*: manifest\.json is damaged/,
    );
  });

  test('of other programs in the same place are not touched', async () => {
    await remote.put('usage/replica-1/key-usage-8080.json', contentOf('{}'));
    await pushNow();
    expect(await pushNow({ graceMs: 0 })).toMatchObject({ removed: 0 });
    expect(await readObject(remote, 'usage/replica-1/key-usage-8080.json')).toBeDefined();
  });
});

test('two pushes from one folder wait for each other', async () => {
  const both = await Promise.all([pushNow(), pushNow()]);
  expect(both.map(({ outcome }) => outcome).toSorted()).toEqual(['pushed', 'unchanged']);
  await readGeneration(remote);
});

describe('a program that pushes whatever becomes current', () => {
  type Result = NonNullable<PushEnding['result']>;

  /** A push that always succeeds, and remembers what was current. */
  function succeed(changes: Partial<Result> = {}): PushEnding {
    const id = currentId(snapshotsDir) ?? '';
    return { result: { outcome: 'pushed', id, removed: 0, ...changes }, messages: '' };
  }

  /** @param push how each push ends */
  function startPushing(push: () => Promise<PushEnding> | PushEnding) {
    let time = Date.now();
    /** The generation that was current at each push. */
    const pushed: (string | undefined)[] = [];
    const start = () => {
      pushed.push(currentId(snapshotsDir));
      return { ended: Promise.resolve(push()), stop() {} };
    };
    const log = makeLog();
    const tasks = makeTasks(new Registry());
    const clock = { now: () => time };
    const pushing = pushChanges(snapshotsDir, {}, tasks, pino({}, log), start, clock);
    const skip = (milliseconds: number) => {
      time += milliseconds;
    };
    return { ...pushing, pushed, log: log.text, skip };
  }

  test('pushes its own runs, other runs and rollbacks, and then checks the store', async () => {
    const older = currentId(snapshotsDir) ?? '';
    let outcome = 'pushed';
    const pushing = startPushing(() => succeed({ outcome }));
    await pushing.check();
    await pushing.check();
    const newer = await publishChange();
    await pushing.check();
    const { id } = await rollbackTo(snapshotsDir, older, { withTakenDown: false, warn() {} });
    await pushing.check();
    pushing.skip(9_999);
    await pushing.check();
    expect(pushing.pushed).toEqual([older, newer, id]);
    outcome = 'unchanged';
    pushing.skip(1);
    await pushing.check();
    pushing.skip(3_599_999);
    await pushing.check();
    expect(pushing.pushed.slice(3)).toEqual([id]);
    pushing.skip(1);
    await pushing.check();
    expect(pushing.pushed.slice(4)).toEqual([id]);
    expect(pushing.log()).not.toMatch(/"level":[45]0/);
    await pushing.stop();
  });

  test('pushes again when old objects can be removed, although nothing new is current', async () => {
    const pushing = startPushing(() => succeed({ againInMs: 5_000 }));
    await pushing.check();
    pushing.skip(4_999);
    await pushing.check();
    expect(pushing.pushed).toHaveLength(1);
    pushing.skip(1);
    await pushing.check();
    expect(pushing.pushed).toHaveLength(2);
    await pushing.stop();
  });

  test('says once that a push fails, tries again after growing pauses, and says when it works', async () => {
    let isBroken = true;
    const pushing = startPushing(() =>
      isBroken ? { result: undefined, messages: 'the disk is gone' } : succeed(),
    );
    const attempts: number[] = [];
    for (let second = 0; second < 32; second++) {
      const before = pushing.pushed.length;
      await pushing.check();
      if (pushing.pushed.length > before) attempts.push(second);
      pushing.skip(1_000);
    }
    expect(attempts).toEqual([0, 2, 6, 14, 30]);
    const fault = 'The push failed, and will be tried again: the disk is gone';
    expect(pushing.log().split(fault)).toHaveLength(2);
    expect(pushing.log()).not.toContain('"pushed"');
    isBroken = false;
    pushing.skip(60_000);
    await pushing.check();
    expect(pushing.log()).toContain('"msg":"pushed"');
    await pushing.stop();
  });

  test('pushes at once what becomes current while pushes fail', async () => {
    const pushing = startPushing(() => ({ result: undefined, messages: 'the disk is gone' }));
    await pushing.check();
    const id = await publishChange();
    await pushing.check();
    expect(pushing.pushed.slice(1)).toEqual([id]);
    await pushing.stop();
  });
});
