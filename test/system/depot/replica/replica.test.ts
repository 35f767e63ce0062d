/** A replica of a snapshots folder: what it pulls, what it refuses, and what it reports. */
import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { openDatabase } from '../../../../database/open.ts';
import { GoneError, PullRefusedError } from '../../../../depot/pull/source.ts';
import { makePointerReader } from '../../../../depot/replica/read-pointer.ts';
import { readReplicaState } from '../../../../depot/replica/state-file.ts';
import { TransferError } from '../../../../depot/transfer/try-again.ts';
import { encodePointer } from '../../../../format/pointer.ts';
import { currentId, generationDir, idsOnDisk } from '../../../../generations/generations.ts';
import { HeldError, holdCurrent, removeHold } from '../../../../generations/hold.ts';
import { seededCatalogue } from '../../../catalogue/seeded.ts';
import { filesOf, inodesOf, makePatientClock } from '../../../support/mirrors.ts';
import {
  makeOrigin,
  newSigningKey,
  pointerTo,
  type ReplicaOrigin,
  startReplica,
} from '../../../support/replicas.ts';
import { expectCurrentVerifies, expectNoDebris, statusOf } from '../../../support/wholeness.ts';

const key = newSigningKey();
const publicKeys = [key.verifyingKey];
/** A region that no other cover has. */
const MARK = 'atlantis-mark';

let origin: ReplicaOrigin;
beforeAll(async () => {
  origin = await makeOrigin([key], seededCatalogue({ games: 40, seed: 8, platforms: 3 }));
});

const currentOf = (dir: string) => currentId(dir) as string;

/** A clock that stands still, except for pauses and skips, so that a busy machine makes no difference. */
function makeClock() {
  const clock = makePatientClock();
  return { ...clock, skip: (milliseconds: number) => void clock.pause(milliseconds) };
}

describe('a replica', () => {
  test('has the same files under the same id, and passes the pointer on', async () => {
    const replica = startReplica(origin, { publicKeys });
    const { pointer, pulled } = await replica.checkSnapshot();
    const id = currentOf(origin.snapshotsDir);
    expect([pointer.id, pulled?.outcome]).toEqual([id, 'published']);
    expect(await expectCurrentVerifies(replica.snapshotsDir)).toBe(id);
    expect(filesOf(replica.snapshotsDir, id)).toEqual(filesOf(origin.snapshotsDir, id));
    expect(readFileSync(path.join(replica.snapshotsDir, 'current.json'), 'utf8')).toBe(
      readFileSync(path.join(origin.snapshotsDir, 'current.json'), 'utf8'),
    );
    expectNoDebris(replica.snapshotsDir);
    expect(statusOf(replica.snapshotsDir)).toMatchObject({
      outcome: 'published',
      id,
    });
    expect(readReplicaState(replica.snapshotsDir)).toMatchObject({
      snapshot: { from: origin.snapshotsDir, id, error: null, refused: null },
      keys: null,
    });
  });

  test('of a replica has the same generation, with the signature of the origin', async () => {
    const first = startReplica(origin, { publicKeys });
    await first.checkSnapshot();
    const second = startReplica(first, { publicKeys });
    await second.checkSnapshot();
    expect(currentOf(second.snapshotsDir)).toBe(currentOf(origin.snapshotsDir));
  });

  test('reads only the pointer while nothing is new', async () => {
    const replica = startReplica(origin, { publicKeys });
    await replica.checkSnapshot();
    replica.faulty.paths.length = 0;
    const { pulled } = await replica.checkSnapshot();
    expect([pulled, replica.faulty.paths]).toEqual([undefined, ['current.json']]);
  });

  test('fetches only the files that changed, and links the others', async () => {
    const replica = startReplica(origin, { publicKeys });
    await replica.checkSnapshot();
    const before = currentOf(replica.snapshotsDir);
    const old = filesOf(replica.snapshotsDir, before);
    const inodes = inodesOf(replica.snapshotsDir, before);
    const { id } = await origin.publishChange();
    replica.faulty.paths.length = 0;
    await replica.checkSnapshot();
    const now = filesOf(replica.snapshotsDir, id);
    const changed = [...now.keys()].filter(
      (name) => !old.get(name)?.equals(now.get(name) as Buffer),
    );
    const fetched = replica.faulty.paths.filter((name) => name.startsWith('generations/'));
    expect(fetched.toSorted()).toEqual(
      changed.map((name) => `generations/${id}/${name}`).toSorted(),
    );
    for (const [name, inode] of inodesOf(replica.snapshotsDir, id)) {
      expect(inodes.get(name) === inode, name).toBe(!changed.includes(name));
    }
  });

  test('has nothing on its disk after its next pull of a cover that was taken down', async () => {
    const replica = startReplica(origin, { publicKeys });
    const database = await openDatabase(origin.databaseUrl);
    const [[cover = null] = []] = await database.rows(
      "SELECT MIN(id) FROM covers WHERE status = 'approved'",
    );
    await database.run('UPDATE covers SET region = ? WHERE id = ?', [MARK, cover]);
    await origin.publishChange();
    await replica.checkSnapshot();
    const showing = () =>
      readdirSync(replica.snapshotsDir, { recursive: true, encoding: 'utf8' })
        .map((name) => path.join(replica.snapshotsDir, name))
        .filter((file) => lstatSync(file).isFile() && readFileSync(file).includes(MARK));
    expect(showing()).not.toEqual([]);
    await database.run("UPDATE covers SET status = 'rejected' WHERE id = ?", [cover]);
    await database.close();
    const { id } = await origin.publishChange();
    await replica.checkSnapshot();
    expect(showing()).toEqual([]);
    expect(idsOnDisk(replica.snapshotsDir)).toEqual([id]);
  });

  test('goes back to an older generation when the origin says so with a newer pointer', async () => {
    const replica = startReplica(origin, { publicKeys });
    await origin.publishChange();
    await replica.checkSnapshot();
    const [older = ''] = idsOnDisk(origin.snapshotsDir);
    origin.point(older);
    await replica.checkSnapshot();
    expect(currentOf(replica.snapshotsDir)).toBe(older);
    origin.point();
    await replica.checkSnapshot();
    expect(currentOf(replica.snapshotsDir)).toBe(currentOf(origin.snapshotsDir));
  });

  test('repairs a damaged file when it starts', async () => {
    const first = startReplica(origin, { publicKeys });
    await first.checkSnapshot();
    const id = currentOf(first.snapshotsDir);
    truncateSync(path.join(generationDir(first.snapshotsDir, id), 'stats.json'), 3);
    const second = startReplica(origin, { publicKeys, snapshotsDir: first.snapshotsDir });
    expect((await second.checkSnapshot()).pulled).toMatchObject({ fetched: 1 });
    expect(await expectCurrentVerifies(first.snapshotsDir)).toBe(id);
  });

  test('publishes nothing while publishing is held, and at once when it is resumed', async () => {
    const replica = startReplica(origin, { publicKeys });
    await replica.checkSnapshot();
    const before = currentOf(replica.snapshotsDir);
    await holdCurrent(replica.snapshotsDir, 'a test', () => {});
    const { id } = await origin.publishChange();
    await expect(replica.checkSnapshot()).rejects.toThrow(HeldError);
    expect(currentOf(replica.snapshotsDir)).toBe(before);
    expect(statusOf(replica.snapshotsDir)).toMatchObject({ outcome: 'held' });
    removeHold(replica.snapshotsDir);
    await replica.checkSnapshot();
    expect(currentOf(replica.snapshotsDir)).toBe(id);
  });
});

describe('a replica whose store fails', () => {
  test('keeps what it has, reports the age of it, and recovers', async () => {
    const clock = makeClock();
    const replica = startReplica(origin, { publicKeys, clock });
    await replica.checkSnapshot();
    const before = readReplicaState(replica.snapshotsDir)?.snapshot;
    replica.faulty.fault = async () => {
      throw new TransferError('no reply: ECONNREFUSED');
    };
    clock.skip(3_600_000);
    await expect(replica.checkSnapshot()).rejects.toThrow('ECONNREFUSED');
    expect(readReplicaState(replica.snapshotsDir)?.snapshot).toEqual({
      ...before,
      error: 'no reply: ECONNREFUSED',
    });
    replica.faulty.fault = (_path, _options, reply) => reply();
    const { id } = await origin.publishChange();
    await replica.checkSnapshot();
    expect(readReplicaState(replica.snapshotsDir)?.snapshot).toMatchObject({ id, error: null });
  });

  test('repeats a failed pull after growing pauses, but at once for a new pointer', async () => {
    const clock = makeClock();
    const replica = startReplica(origin, { publicKeys, clock });
    replica.faulty.fault = async (name, _options, reply) => {
      if (name.startsWith('generations/')) throw new Error('access denied');
      return reply();
    };
    const pulls = () => replica.faulty.paths.filter((name) => name !== 'current.json').length;
    const attempts: number[] = [];
    for (let second = 0; second < 64; second++) {
      const before = pulls();
      await expect(replica.checkSnapshot()).rejects.toThrow('access denied');
      if (pulls() > before) attempts.push(second);
      clock.skip(1_000);
    }
    expect(attempts).toEqual([0, 1, 3, 7, 15, 31, 63]);
    await origin.publishChange();
    const before = pulls();
    await expect(replica.checkSnapshot()).rejects.toThrow('access denied');
    expect(pulls()).toBe(before + 1);
  });

  test('begins again with the new pointer when an object of the replaced generation is gone', async () => {
    const replica = startReplica(origin, { publicKeys, clock: makeClock() });
    const replaced: string[] = [];
    replica.faulty.fault = async (name, _options, reply) => {
      const id = currentOf(origin.snapshotsDir);
      const isLate = replaced.length < 3 && name === `generations/${id}/search.json`;
      if (!isLate) return reply();
      replaced.push(id);
      await origin.publishChange();
      return { status: 'missing' };
    };
    const { pointer } = await replica.checkSnapshot();
    expect(replaced).toHaveLength(3);
    expect(replaced).not.toContain(pointer.id);
    expect(await expectCurrentVerifies(replica.snapshotsDir)).toBe(currentOf(origin.snapshotsDir));
  });

  test('gives up a check after some restarts, and at once if the pointer is the same', async () => {
    const replica = startReplica(origin, { publicKeys, clock: makeClock() });
    let missing = 0;
    let isReplaced = true;
    replica.faulty.fault = async (name, _options, reply) => {
      if (!name.endsWith('/search.json')) return reply();
      missing++;
      if (isReplaced) origin.point();
      return { status: 'missing' };
    };
    await expect(replica.checkSnapshot()).rejects.toThrow(GoneError);
    expect(missing).toBe(11);
    isReplaced = false;
    await expect(replica.checkSnapshot()).rejects.toThrow(GoneError);
    expect(missing).toBe(12);
    replica.faulty.fault = (_path, _options, reply) => reply();
    origin.point();
    await replica.checkSnapshot();
  });

  test('continues in the middle of a file', async () => {
    const replica = startReplica(origin, { publicKeys, clock: makeClock() });
    const wanted = `generations/${currentOf(origin.snapshotsDir)}/search.json`;
    const offsets: (number | undefined)[] = [];
    replica.faulty.fault = async (name, options, reply) => {
      const found = await reply();
      if (name !== wanted || found.status !== 'found') return found;
      offsets.push(options.offset);
      if (offsets.length > 3) return found;
      return {
        ...found,
        bytes: (async function* () {
          for await (const piece of found.bytes) {
            yield piece.subarray(0, 100);
            throw new TransferError('the connection was cut');
          }
        })(),
      };
    };
    await replica.checkSnapshot();
    expect(offsets).toEqual([0, 100, 200, 300]);
    await expectCurrentVerifies(replica.snapshotsDir);
  });
});

describe('a replica refuses', () => {
  let restore = () => {};

  /** A replica at an older generation than the origin, which `tamper` then changes. */
  async function expectRefusal(expected: RegExp, tamper: () => void): Promise<void> {
    origin.point();
    const replica = startReplica(origin, { publicKeys, clock: makeClock() });
    await replica.checkSnapshot();
    const before = currentOf(replica.snapshotsDir);
    await origin.publishChange();
    tamper();
    await expect(replica.checkSnapshot()).rejects.toThrow(PullRefusedError);
    expect(currentOf(replica.snapshotsDir)).toBe(before);
    const state = readReplicaState(replica.snapshotsDir)?.snapshot;
    expect(state).toMatchObject({ id: before, error: null });
    expect(state?.refused?.error).toMatch(expected);
    expect(statusOf(replica.snapshotsDir)).toMatchObject({ outcome: 'refused' });
    restore();
    restore = () => {};
    origin.point();
    await replica.checkSnapshot();
    expect(readReplicaState(replica.snapshotsDir)?.snapshot).toMatchObject({ refused: null });
    expect(currentOf(replica.snapshotsDir)).toBe(currentOf(origin.snapshotsDir));
  }

  const newest = () => currentOf(origin.snapshotsDir);

  test('a pointer without a signature', () =>
    expectRefusal(/is not signed/, () =>
      origin.offer(pointerTo(origin.snapshotsDir, newest(), 1e12)),
    ));

  test('a pointer that another key has signed', () =>
    expectRefusal(/which SNAPSHOT_PUBLIC_KEYS does not list/, () =>
      origin.offer(pointerTo(origin.snapshotsDir, newest(), 1e12, [newSigningKey()])),
    ));

  test('a pointer that was changed after it was signed', () =>
    expectRefusal(/wrong signature/, () => {
      const pointer = pointerTo(origin.snapshotsDir, newest(), 1e12, [key]);
      origin.offer({ ...pointer, sequence: 2e12 });
    }));

  test('an older pointer, also after a restart', async () => {
    const replica = startReplica(origin, { publicKeys });
    const old = origin.point();
    const { id } = await origin.publishChange();
    await replica.checkSnapshot();
    origin.offer(old);
    for (const each of [replica, startReplica(origin, { publicKeys, ...replica })]) {
      await expect(each.checkSnapshot()).rejects.toThrow(/was accepted before: an older/);
    }
    expect(currentOf(replica.snapshotsDir)).toBe(id);
    origin.point();
  });

  test('an older pointer after a crash before the newer generation was published', async () => {
    const replica = startReplica(origin, { publicKeys });
    const old = origin.point();
    await replica.checkSnapshot();
    const newer = await origin.publishChange();
    replica.faulty.fault = async (name, _options, reply) => {
      if (name.startsWith('generations/')) throw new Error('a crash');
      return reply();
    };
    await expect(replica.checkSnapshot()).rejects.toThrow('a crash');
    const restarted = startReplica(origin, { publicKeys, snapshotsDir: replica.snapshotsDir });
    origin.offer(old);
    await expect(restarted.checkSnapshot()).rejects.toThrow(/was accepted before: an older/);
    origin.offer(newer);
    await restarted.checkSnapshot();
    expect(currentOf(replica.snapshotsDir)).toBe(newer.id);
  });

  test('a manifest that the pointer does not name', () =>
    expectRefusal(/has the SHA-256/, () => {
      origin.point();
      const file = path.join(generationDir(origin.snapshotsDir, newest()), 'manifest.json');
      const manifest = readFileSync(file);
      writeFileSync(file, `${manifest} `);
      restore = () => writeFileSync(file, manifest);
    }));

  test('a file that the manifest does not name', () =>
    expectRefusal(/index\/games.bin: its SHA-256 at/, () => {
      const file = path.join(generationDir(origin.snapshotsDir, newest()), 'index/games.bin');
      const content = readFileSync(file);
      const changed = Buffer.from(content);
      changed[100]++;
      writeFileSync(file, changed);
      restore = () => writeFileSync(file, content);
    }));

  test('everything while accepted.json is damaged, and says what to do', async () => {
    const replica = startReplica(origin, { publicKeys });
    origin.point();
    await replica.checkSnapshot();
    const file = path.join(replica.snapshotsDir, 'accepted.json');
    writeFileSync(file, '{');
    await origin.publishChange();
    await expect(replica.checkSnapshot()).rejects.toThrow(
      `If the store can be trusted, remove ${file}.`,
    );
    rmSync(file);
    await replica.checkSnapshot();
    expect(currentOf(replica.snapshotsDir)).toBe(currentOf(origin.snapshotsDir));
    expect(existsSync(file)).toBe(true);
  });

  test('a pointer that is not one', async () => {
    const replica = startReplica(origin, { publicKeys });
    const good = readFileSync(path.join(origin.snapshotsDir, 'current.json'), 'utf8');
    for (const text of [
      '',
      '{}',
      'null',
      '<html>',
      good.replace('"format_version": 1', '"format_version": 2'),
    ]) {
      writeFileSync(path.join(origin.snapshotsDir, 'current.json'), text);
      await expect(replica.checkSnapshot()).rejects.toThrow(/The pointer/);
    }
    writeFileSync(path.join(origin.snapshotsDir, 'current.json'), good);
    await replica.checkSnapshot();
    expect(encodePointer(JSON.parse(good))).toBe(good);
  });
});

test('a store that hangs does not stop the checks', async () => {
  const { faulty } = startReplica(origin);
  faulty.fault = (_path, { signal }) =>
    new Promise((_resolve, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason));
    });
  const late = new AbortController();
  const limits: number[] = [];
  const read = makePointerReader(faulty.store, 'current.json', 1000, (milliseconds) => {
    limits.push(milliseconds);
    return late.signal;
  });
  const reading = read();
  late.abort(new Error('late'));
  await expect(reading).rejects.toThrow('did not send current.json within 10 s');
  expect(limits).toEqual([10_000]);
});
