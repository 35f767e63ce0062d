/** A replica of a depot: what it pulls, what it refuses, and what it reports. */
import { mkdirSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { RefusedReleaseError, TransferError } from '#depot/depot.ts';
import { openDepot, openWritableDepot } from '#depot/open.ts';
import { viewColumns } from '#lib/columns/container.ts';
import { FORMAT_VERSION, WORD_INDEX } from '#lib/format/layout.ts';
import { encodeRelease, makeRelease, RELEASES, type Release } from '#lib/format/release.ts';
import { currentId, generationDir, pointCurrentTo } from '#lib/generations/generations.ts';
import { HeldError, holdCurrent, removeHold } from '#lib/generations/hold.ts';
import { readReplicaState } from '#lib/generations/state-files.ts';
import { seededCatalogue } from '#test/catalogue/seeded.ts';
import { disturbed, noSpace } from '#test/lib/generations/disk.ts';
import { forgeFile } from '#test/support/forge.ts';
import {
  filesOf,
  inodesOf,
  makeOrigin,
  newDepotFolder,
  newSigningKey,
  pushTo,
  readBytes,
  replyWith,
  startReplica,
} from '#test/support/replicas.ts';
import { expectCurrentVerifies, expectNoDebris } from '#test/support/wholeness.ts';

const { signingKey, publicKeys } = newSigningKey();

const catalogue = seededCatalogue({ games: 40, seed: 8, platforms: 3 });
const origin = await makeOrigin(signingKey, catalogue);

const start = (changes: Parameters<typeof startReplica>[1] = {}) =>
  startReplica(origin.depot, { publicKeys, ...changes });
const stateOf = (dir: string) => readReplicaState(dir)?.snapshot;

describe('a replica', () => {
  test('has the same files under the same id, says so, and then reads only the release', async () => {
    const { snapshotsDir, ...replica } = start();
    const { release, pulled } = await replica.checkSnapshot();
    const id = origin.current();
    expect([release.id, pulled?.linked]).toEqual([id, 0]);
    expect(await expectCurrentVerifies(snapshotsDir)).toBe(id);
    expect(filesOf(snapshotsDir, id)).toEqual(filesOf(origin.snapshotsDir, id));
    expectNoDebris(snapshotsDir);
    const published_at = release.released_at;
    const none = { error: null, refused: null };
    expect(stateOf(snapshotsDir)).toMatchObject({ from: origin.folder, id, published_at, ...none });
    replica.faulty.paths.length = 0;
    expect((await replica.checkSnapshot()).pulled).toBeUndefined();
    expect(replica.faulty.paths).toEqual([RELEASES.snapshot]);
  });

  test('fetches only the files that changed, and links the others', async () => {
    const replica = start();
    const { release } = await replica.checkSnapshot();
    const old = filesOf(replica.snapshotsDir, release.id);
    const inodes = inodesOf(replica.snapshotsDir, release.id);
    const { id } = await origin.publish();
    const { pulled } = await replica.checkSnapshot();
    const now = filesOf(replica.snapshotsDir, id);
    const isChanged = (name: string) => !old.get(name)?.equals(now.get(name) as Buffer);
    for (const [name, inode] of inodesOf(replica.snapshotsDir, id)) {
      expect(inodes.get(name) === inode, name).toBe(!isChanged(name));
    }
    // The manifest is not among the files.
    expect(pulled?.fetched).toBe([...now.keys()].filter(isChanged).length - 1);
  });

  test('warns if it cannot remove what it has fetched, and publishes all the same', async () => {
    const { snapshotsDir, ...replica } = start();
    const { pulled } = await disturbed('rmSync', /\/pull$/, noSpace, replica.checkSnapshot);
    expect(pulled?.manifest.id).toBe(currentId(snapshotsDir));
    expect(replica.warnings).toEqual([expect.stringMatching(/pull was not removed: ENOSPC/)]);
  });

  test.each(['stats.json', 'manifest.json'])(
    'replaces a damaged %s of its current generation when it starts',
    async (name) => {
      const { snapshotsDir, ...replica } = start();
      const { release } = await replica.checkSnapshot();
      truncateSync(path.join(generationDir(snapshotsDir, release.id), name), 3);
      const { pulled } = await start({ snapshotsDir }).checkSnapshot();
      expect(pulled?.fetched).toBeGreaterThan(0);
      await expectCurrentVerifies(snapshotsDir);
    },
  );

  test('keeps the complete files of an interrupted pull for the next one', async () => {
    const replica = start();
    replica.faulty.fault = async (name, reply) => {
      if (name.startsWith('files/') && replica.faulty.paths.length > 8) {
        throw new TransferError('the connection was cut');
      }
      return reply();
    };
    await expect(replica.checkSnapshot()).rejects.toThrow('the connection was cut (tried 5 times)');
    expect(currentId(replica.snapshotsDir)).toBeUndefined();
    const staged = readdirSync(path.join(replica.snapshotsDir, 'pull'));
    expect(staged.length).toBeGreaterThan(2);
    replica.faulty.paths.length = 0;
    const again = start({ snapshotsDir: replica.snapshotsDir });
    await again.checkSnapshot();
    for (const sha256 of staged) expect(again.faulty.paths).not.toContain(`files/${sha256}.zst`);
    expectNoDebris(replica.snapshotsDir);
    // A process that was killed after it had published.
    mkdirSync(path.join(replica.snapshotsDir, 'pull'));
    await start({ snapshotsDir: replica.snapshotsDir }).checkSnapshot();
    expectNoDebris(replica.snapshotsDir);
  });

  test('reads the release again when an object is gone, and continues with the newer one', async () => {
    const replica = start();
    let publishing: Promise<Release> | undefined;
    replica.faulty.fault = async (name, reply) => {
      if (name.startsWith('files/')) {
        publishing ??= origin.publish();
        await publishing;
      }
      return reply();
    };
    const { release } = await replica.checkSnapshot();
    const newer = await publishing;
    expect(release.id).toBe(newer?.id);
    replica.faulty.fault = async (name, reply) =>
      name === RELEASES.snapshot ? reply() : undefined;
    await origin.publish();
    await expect(replica.checkSnapshot()).rejects.toThrow(/no longer has/);
    expect(currentId(replica.snapshotsDir)).toBe(newer?.id);
  });

  test('publishes nothing while an operator holds it', async () => {
    const { snapshotsDir, ...replica } = start();
    const { release } = await replica.checkSnapshot();
    await holdCurrent(snapshotsDir, 'a test', () => {});
    const { id } = await origin.publish();
    await expect(replica.checkSnapshot()).rejects.toThrow(HeldError);
    expect(currentId(snapshotsDir)).toBe(release.id);
    expect(stateOf(snapshotsDir)?.error).toMatch(/^Nothing is published\. Publishing is held/);
    removeHold(snapshotsDir);
    await replica.checkSnapshot();
    expect(currentId(snapshotsDir)).toBe(id);
  });

  test('serves for a day without its origin, and says how old its data is', async () => {
    const replica = start();
    await replica.checkSnapshot();
    const before = stateOf(replica.snapshotsDir);
    replica.faulty.fault = async () => {
      throw new TransferError('no reply: connect ECONNREFUSED');
    };
    for (let hour = 0; hour < 24; hour++) {
      replica.clock.skip(3_600_000);
      await expect(replica.checkSnapshot()).rejects.toThrow('ECONNREFUSED');
      expect(currentId(replica.snapshotsDir)).toBe(origin.current());
    }
    const { current_as_of, error } = stateOf(replica.snapshotsDir) ?? {};
    expect(current_as_of).toBe(before?.current_as_of);
    expect(error).toMatch(/ECONNREFUSED/);
    // Another process keeps what it knew.
    start({ snapshotsDir: replica.snapshotsDir });
    replica.faulty.fault = (_name, reply) => reply();
    await replica.checkSnapshot();
    const asOf = stateOf(replica.snapshotsDir)?.current_as_of;
    expect(Date.parse(asOf ?? '')).toBe(replica.clock.now());
  });
});

describe('a replica refuses', () => {
  /** Offers something else, and expects that nothing is published, also after a restart. */
  async function expectRefused(
    expected: RegExp,
    offer: (old: string) => Promise<Buffer | string> | Buffer | string,
    object = /^release\.json$/,
  ) {
    const replica = start();
    await replica.checkSnapshot();
    const id = currentId(replica.snapshotsDir);
    const old = (await readBytes(origin.depot, RELEASES.snapshot)) as Buffer;
    await origin.publish();
    const offered = await offer(old.toString());
    for (const each of [replica, start({ snapshotsDir: replica.snapshotsDir })]) {
      each.faulty.fault = async (name, reply) => (object.test(name) ? replyWith(offered) : reply());
      const error = await each.checkSnapshot().catch((reason) => reason);
      expect(error).toBeInstanceOf(RefusedReleaseError);
      expect(error.message).toMatch(expected);
    }
    expect(currentId(replica.snapshotsDir)).toBe(id);
    expect(stateOf(replica.snapshotsDir)?.refused?.error).toMatch(expected);
    // What was refused does not prevent what is right.
    await start({ snapshotsDir: replica.snapshotsDir }).checkSnapshot();
    expect(currentId(replica.snapshotsDir)).toBe(origin.current());
  }

  const newer = async (changes: Partial<Release>) =>
    encodeRelease({ ...makeRelease('snapshot', { ...(await release()) }), ...changes });
  const release = async () =>
    JSON.parse(((await readBytes(origin.depot, RELEASES.snapshot)) as Buffer).toString());

  test('a release without a signature', () =>
    expectRefused(/is not signed/, () => newer({ signature: null })));

  test('a release that was changed', () =>
    expectRefused(/signature is wrong/, async () => {
      const { signature, sequence } = await release();
      return newer({ signature, sequence: sequence + 1 });
    }));

  test('a release that is no release', () =>
    expectRefused(/is refused: .*"id" is "\.\.\/x"/, () => newer({ id: '../x' })));

  test('a manifest that is not the one of the release', () =>
    expectRefused(/does not have the SHA-256 in the release/, () => '{}', /^generations\//));

  test('a file with another content', () =>
    expectRefused(/does not have the SHA-256 in the manifest/, () => '{}', /^files\//));

  test('a generation with right hashes and wrong values', async () => {
    const forger = await makeOrigin();
    const forged = forgeFile(
      generationDir(forger.snapshotsDir, forger.current()),
      WORD_INDEX,
      (bytes) => {
        viewColumns(bytes, WORD_INDEX, FORMAT_VERSION)['words.entries'].fill(1e6, -1);
        return bytes;
      },
    );
    pointCurrentTo(forger.snapshotsDir, forged.id);
    const depot = openWritableDepot(newDepotFolder());
    await pushTo(depot, forger.snapshotsDir);
    const replica = startReplica(depot);
    await expect(replica.checkSnapshot()).rejects.toThrow('index/words.bin is damaged: ');
    expect(currentId(replica.snapshotsDir)).toBeUndefined();
  });

  test('an older release than it has accepted, after it has accepted the newer one', async () => {
    const replica = start();
    await replica.checkSnapshot();
    const old = (await readBytes(origin.depot, RELEASES.snapshot)) as Buffer;
    const { id } = await origin.publish();
    await replica.checkSnapshot();
    replica.faulty.fault = async (name, reply) =>
      name === RELEASES.snapshot ? replyWith(old) : reply();
    await expect(replica.checkSnapshot()).rejects.toThrow(/something older is offered again/);
    expect(currentId(replica.snapshotsDir)).toBe(id);
  });

  test('a second release with the same sequence', async () => {
    const replica = startReplica(origin.depot);
    const { release: accepted } = await replica.checkSnapshot();
    const other = encodeRelease({ ...accepted, sha256: 'a'.repeat(64) });
    replica.faulty.fault = async (name, reply) =>
      name === RELEASES.snapshot ? replyWith(other) : reply();
    await expect(replica.checkSnapshot()).rejects.toThrow(/two programs have pushed/);
  });

  test('everything while it does not know what it has accepted', async () => {
    const { snapshotsDir, ...replica } = start();
    await replica.checkSnapshot();
    const file = path.join(snapshotsDir, 'accepted-snapshot.json');
    writeFileSync(file, '{"version":1}\n');
    const { id } = await origin.publish();
    await expect(start({ snapshotsDir }).checkSnapshot()).rejects.toThrow(
      /Nothing new is accepted.*remove .*accepted-snapshot\.json/,
    );
    rmSync(file);
    await start({ snapshotsDir }).checkSnapshot();
    expect(currentId(snapshotsDir)).toBe(id);
  });
});

test('another origin, with another signing key, has sequences of its own', async () => {
  const replica = start();
  await origin.publish();
  await replica.checkSnapshot();
  const { snapshotsDir } = replica;
  const key = newSigningKey();
  const small = seededCatalogue({ games: 9, seed: 1, platforms: 2 });
  const other = await makeOrigin(key.signingKey, small);
  const { publicKeys: theirs } = key;
  await startReplica(other.depot, { snapshotsDir, publicKeys: theirs }).checkSnapshot();
  expect(currentId(snapshotsDir)).toBe(other.current());
  // Without signatures, an address stands for an origin.
  const unsigned = startReplica(other.depot);
  await unsigned.checkSnapshot();
  await startReplica(origin.depot, { snapshotsDir: unsigned.snapshotsDir }).checkSnapshot();
  expect(currentId(unsigned.snapshotsDir)).toBe(origin.current());
});

test('a depot that has nothing yet is an error that says so', async () => {
  const replica = startReplica(openDepot(path.dirname(origin.folder)));
  await expect(replica.checkSnapshot()).rejects.toThrow(/has no release\.json: nothing was pushed/);
});
