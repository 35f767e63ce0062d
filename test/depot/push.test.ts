/** What a push writes to a depot, what it refuses, and what it removes. */
import { readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { beforeEach, describe, expect, test } from 'vitest';
import { RefusedReleaseError, type WritableDepot } from '#depot/depot.ts';
import { openWritableDepot } from '#depot/open.ts';
import { pushChanges } from '#depot/push.ts';
import { RELEASES, storedFile, storedManifest } from '#lib/format/release.ts';
import { currentId, generationDir } from '#lib/generations/generations.ts';
import { makeTasks } from '#lib/program/admin/tasks.ts';
import { plainCatalogue } from '#test/catalogue/plain.ts';
import {
  makeOrigin,
  newDepotFolder,
  newSigningKey,
  pushTo,
  readDepot,
  readStoredRelease,
  startReplica,
} from '#test/support/replicas.ts';
import { newSnapshots } from '#test/support/wholeness.ts';

const key = newSigningKey();
const HOUR = 3_600_000;
let folder: string;
let depot: WritableDepot;
const origin = await makeOrigin(undefined, plainCatalogue(20));
beforeEach(() => {
  folder = newDepotFolder();
  depot = openWritableDepot(folder);
});

const pushHere = (changes: Parameters<typeof pushTo>[2] = {}, snapshotsDir = origin.snapshotsDir) =>
  pushTo(depot, snapshotsDir, changes);
const objects = () =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)));
/** Makes all objects that there are now older. */
const age = (milliseconds: number) => {
  for (const name of objects()) {
    const then = (Date.now() - milliseconds) / 1000;
    utimesSync(path.join(folder, name), then, then);
  }
};

describe('a push', () => {
  test('writes the files, the manifest and the release, and then has nothing to do', async () => {
    const result = await pushHere();
    const { manifest, release } = await readDepot(depot);
    expect(release).toMatchObject({ id: origin.current(), sequence: manifest.sequence });
    const contents = new Set(manifest.files.map(({ sha256 }) => sha256));
    expect(result).toMatchObject({ outcome: 'pushed', present: 0, sent: contents.size });
    const before = objects().map((name) => [name, readFileSync(path.join(folder, name))]);
    expect(await pushHere()).toMatchObject({ outcome: 'unchanged', sent: 0 });
    expect(objects().map((name) => [name, readFileSync(path.join(folder, name))])).toEqual(before);
  });

  test('sends only what changed, and replaces what was lost or damaged', async () => {
    await pushHere();
    await origin.publish();
    const { sent, present } = await pushHere();
    expect(sent).toBeGreaterThan(0);
    expect(present).toBeGreaterThan(0);
    const [lost = ''] = objects().filter((name) => name.startsWith('files/'));
    await depot.remove(lost);
    writeFileSync(path.join(folder, storedManifest(origin.current())), '{}');
    expect(await pushHere()).toMatchObject({ outcome: 'pushed', sent: 1 });
    await readDepot(depot);
  });

  test('signs the release, and again with another key', async () => {
    await pushHere({ signingKey: key.signingKey });
    const first = await readStoredRelease(depot);
    expect(first.signature).not.toBeNull();
    const other = newSigningKey();
    await pushHere({ signingKey: other.signingKey });
    const { signature, ...rest } = await readStoredRelease(depot);
    expect([signature === first.signature, rest.id]).toEqual([false, first.id]);
    // Replicas with either key accept what they have accepted before.
    const publicKeys = [...key.publicKeys, ...other.publicKeys];
    await startReplica(depot, { publicKeys }).checkSnapshot();
  });

  test('refuses to send a damaged file', async () => {
    const { id } = await origin.publish();
    const file = path.join(generationDir(origin.snapshotsDir, id), 'stats.json');
    const content = readFileSync(file);
    writeFileSync(file, content.toString().toUpperCase());
    await expect(pushHere()).rejects.toThrow(/stats\.json is damaged/);
    expect(await depot.get(RELEASES.snapshot)).toBeUndefined();
    writeFileSync(file, content);
  });

  test('of an empty folder says so', async () => {
    await expect(pushHere({}, newSnapshots())).rejects.toThrow(/no generation in .* to push/);
  });
});

describe('a push refuses to replace', () => {
  async function expectRefused(
    expected: RegExp,
    changes: Parameters<typeof pushTo>[2],
    dir: string,
  ) {
    const before = readFileSync(path.join(folder, RELEASES.snapshot));
    const error = await pushHere(changes, dir).catch((reason) => reason);
    expect(error).toBeInstanceOf(RefusedReleaseError);
    expect(error.message).toMatch(expected);
    expect(readFileSync(path.join(folder, RELEASES.snapshot))).toEqual(before);
  }

  test('a signed release without a key', async () => {
    await pushHere({ signingKey: key.signingKey });
    await expectRefused(/is signed, and .*SNAPSHOT_SIGNING_KEY/, {}, origin.snapshotsDir);
  });

  test('a newer or another generation, which this machine can continue', async () => {
    await pushHere({ signingKey: key.signingKey });
    const other = await makeOrigin(key.signingKey, plainCatalogue(21));
    const signed = { signingKey: key.signingKey };
    await expectRefused(/not older than .*replica --once --from/, signed, other.snapshotsDir);
    // As the message says: then its numbers continue.
    await startReplica(depot, { snapshotsDir: other.snapshotsDir }).checkSnapshot();
    await other.publish();
    await pushHere(signed, other.snapshotsDir);
    expect((await readDepot(depot)).release.id).toBe(other.current());
  });

  test('a release that was pushed in the meantime', async () => {
    await pushHere();
    await origin.publish();
    const newer = { ...(await readStoredRelease(depot)), sequence: 9e15 };
    let reads = 0;
    const get: WritableDepot['get'] = async (name) => {
      if (name === RELEASES.snapshot && ++reads === 2) {
        writeFileSync(path.join(folder, name), JSON.stringify(newer));
      }
      return depot.get(name);
    };
    const pushing = pushTo({ ...depot, get }, origin.snapshotsDir);
    await expect(pushing).rejects.toThrow(RefusedReleaseError);
    expect(await readStoredRelease(depot)).toEqual(newer);
  });

  test('but not one that somebody without the key has written', async () => {
    await pushHere({ signingKey: key.signingKey });
    const release = { ...(await readStoredRelease(depot)), sequence: 9e15 };
    writeFileSync(path.join(folder, RELEASES.snapshot), JSON.stringify(release));
    await origin.publish();
    await pushHere({ signingKey: key.signingKey });
    expect((await readStoredRelease(depot)).id).toBe(origin.current());
  });
});

describe('what a depot no longer needs', () => {
  const grace = { graceMs: HOUR };

  test('is removed after the time of grace, also what was taken down', async () => {
    await origin.publish(
      "UPDATE covers SET region = 'mark-1' WHERE id = (SELECT MIN(id) FROM covers WHERE status = 'approved')",
    );
    await pushHere(grace);
    const before = origin.current();
    age(HOUR / 2);
    await origin.publish("UPDATE covers SET status = 'rejected' WHERE region = 'mark-1'");
    expect(await pushHere(grace)).toMatchObject({ removed: 0 });
    expect(objects()).toContain(storedManifest(before));
    age(2 * HOUR);
    const { removed } = await pushHere(grace);
    expect(removed).toBeGreaterThan(1);
    const contents = objects().map((name) => {
      const bytes = readFileSync(path.join(folder, name));
      return name.endsWith('.zst') ? zstdDecompressSync(bytes) : bytes;
    });
    expect(contents.filter((bytes) => bytes.includes('mark-1'))).toEqual([]);
    await readDepot(depot);
  });

  test('stays while another push may need it, and what is not of a generation always', async () => {
    await pushHere(grace);
    const others = ['keys/1.json', 'files/logo.png', 'generations/000001-a3bceaff3664/stats.json'];
    const names = [storedFile('a'.repeat(64)), 'unfinished/0123456789abcdef', ...others];
    for (const name of names) await depot.put(name, Buffer.from('x'));
    await pushHere(grace);
    for (const name of names) expect(objects()).toContain(name);
    age(2 * HOUR);
    expect(await pushHere(grace)).toMatchObject({ removed: 2 });
    expect(objects()).toEqual(expect.arrayContaining(others));
    await readDepot(depot);
  });

  test('is only warned about if it cannot be removed', async () => {
    await pushHere();
    await origin.publish();
    const warnings: string[] = [];
    const remove = async () => {
      throw new Error('access denied');
    };
    const report = { advance() {}, step() {}, warn: (text: string) => warnings.push(text) };
    const result = await pushTo({ ...depot, remove }, origin.snapshotsDir, { report, graceMs: -1 });
    expect(result).toMatchObject({ outcome: 'pushed', removed: 0 });
    expect(warnings).toEqual([expect.stringMatching(/was not cleaned up.*access denied/)]);
  });
});

test('a program that runs all the time pushes changes, and again after failures', async () => {
  let time = 0;
  const pushed: (string | undefined)[] = [];
  const send = async () => {
    pushed.push(currentId(origin.snapshotsDir));
    if (pushed.length === 1) throw new Error('no reply');
    return pushHere();
  };
  const tasks = makeTasks(new Registry());
  const log = pino({ level: 'silent' });
  const pushes = pushChanges(origin.snapshotsDir, send, tasks, log, () => time);
  await pushes.run();
  await pushes.run();
  await pushes.run();
  expect(pushed).toHaveLength(2);
  const { id } = await origin.publish();
  await pushes.run();
  expect(pushed.at(-1)).toBe(id);
  time += 60_000;
  await pushes.run();
  expect(pushed).toHaveLength(4);
  await pushes.stop();
});
