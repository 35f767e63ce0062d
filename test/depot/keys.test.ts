/** Keys on their way from the database to replicas. */
import { cpSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { makeKeysSender } from '#depot/keys.ts';
import { openWritableDepot } from '#depot/open.ts';
import { hashKey, makeKey } from '#lib/format/api-key.ts';
import { encodeKeys, type KeyEntry } from '#lib/format/keys-file.ts';
import { RELEASES } from '#lib/format/release.ts';
import { readReplicaState } from '#lib/generations/state-files.ts';
import { disturbed, noSpace } from '#test/lib/generations/disk.ts';
import { newDepotFolder, newSigningKey, startReplica } from '#test/support/replicas.ts';
import { newSnapshots } from '#test/support/wholeness.ts';

const { signingKey, publicKeys } = newSigningKey();
const hash = hashKey(makeKey());
const approved: KeyEntry = { id: 1, hash, state: 'approved', limit: 120 };
const revoked: KeyEntry = { ...approved, state: 'revoked' };

let folder: string;
beforeEach(() => {
  folder = newDepotFolder();
});

const open = () => openWritableDepot(folder);
function sender(
  key: typeof signingKey | undefined = signingKey,
  now = Date.now,
  { depot = open(), warn = expect.unreachable as (text: string) => void } = {},
) {
  const send = makeKeysSender(depot, key, now, warn);
  return (content: string, readAt: number, isStored = false) => send({ content, readAt, isStored });
}
const releaseFile = () => path.join(folder, RELEASES.keys);

function start(snapshotsDir = newSnapshots(), trusted = publicKeys) {
  const options = { publicKeys: trusted, keysDepot: open(), snapshotsDir };
  const replica = startReplica(open(), options);
  const file = path.join(snapshotsDir, 'keys.json');
  return {
    ...replica,
    file,
    text: () => readFileSync(file, 'utf8'),
    state: () => readReplicaState(snapshotsDir)?.keys,
  };
}

describe('keys', () => {
  test('arrive at a replica, readable for nobody else, with the time of their last confirmation', async () => {
    const replica = start();
    const readAt = Date.now() - 90_000;
    expect(await sender()(encodeKeys([approved]), readAt)).toBe(true);
    expect(await replica.checkKeys()).toBe(true);
    expect(replica.text()).toBe(encodeKeys([approved]));
    const { mode, mtimeMs } = statSync(replica.file);
    expect([mode & 0o777, Math.round(mtimeMs)]).toEqual([0o600, readAt]);
    expect(replica.state()).toMatchObject({ from: folder, error: null, refused: null });
    expect(await replica.checkKeys()).toBe(false);
  });

  test('that are revoked replace the ones before, and old contents are removed later', async () => {
    const replica = start();
    const send = sender();
    await send(encodeKeys([approved]), Date.now());
    await replica.checkKeys();
    await send(encodeKeys([revoked]), Date.now());
    expect(await replica.checkKeys()).toBe(true);
    expect(replica.text()).toBe(encodeKeys([revoked]));
    expect(readdirSync(path.join(folder, 'keys'))).toHaveLength(3);
    const later = () => Date.now() + 3_600_000;
    const depot = open();
    const removed = new Promise<void>((resolve) => {
      const { remove } = depot;
      depot.remove = (name) => remove(name).then(resolve);
    });
    await sender(signingKey, later, { depot })(encodeKeys([approved]), Date.now());
    await removed;
    expect(readdirSync(path.join(folder, 'keys'))).toHaveLength(2);
  });

  test('do not wait for the removal of old contents, which may fail', async () => {
    const replica = start();
    const listing = Promise.withResolvers<never>();
    let lists = 0;
    const depot = open();
    depot.list = () => {
      lists++;
      return listing.promise;
    };
    const warned = Promise.withResolvers<string>();
    const send = sender(signingKey, Date.now, { depot, warn: warned.resolve });
    for (const keys of [approved, revoked]) {
      await send(encodeKeys([keys]), Date.now());
      await replica.checkKeys();
      expect(replica.text()).toBe(encodeKeys([keys]));
    }
    expect(lists).toBe(1);
    listing.reject(new Error('access denied'));
    expect(await warned.promise).toBe(`old keys were not removed from ${folder}: access denied`);
  });

  test('that are only on disk, because the database is away, replace no newer ones', async () => {
    const replica = start();
    const readAt = Date.now() - 3_600_000;
    expect(await sender()(encodeKeys([approved]), readAt, true)).toBe(true);
    await replica.checkKeys();
    expect(replica.text()).toBe(encodeKeys([approved]));
    await sender()(encodeKeys([revoked]), readAt + 60_000);
    expect(await sender()(encodeKeys([approved]), readAt + 30_000, true)).toBe(false);
    await replica.checkKeys();
    expect(replica.text()).toBe(encodeKeys([revoked]));
    // What was revoked when this program was last killed, before it sent that.
    expect(await sender()(encodeKeys([]), readAt + 90_000, true)).toBe(true);
  });

  test('that do not change are confirmed every ten seconds, with one small object', async () => {
    const replica = start();
    const send = sender();
    const first = Date.now();
    await send(encodeKeys([approved]), first);
    await replica.checkKeys();
    const release = readFileSync(releaseFile(), 'utf8');
    await send(encodeKeys([approved]), first + 9_000);
    expect(readFileSync(releaseFile(), 'utf8')).toBe(release);
    expect(await send(encodeKeys([approved]), first + 11_000)).toBe(false);
    expect(await replica.checkKeys()).toBe(false);
    expect(Math.round(statSync(replica.file).mtimeMs)).toBe(first + 11_000);
  });

  test('that are revoked arrive on a full disk, in the space of a reserve', async () => {
    const replica = start();
    const send = sender();
    await send(encodeKeys([approved]), Date.now());
    await replica.checkKeys();
    await send(encodeKeys([revoked]), Date.now());
    const reserve = path.join(replica.snapshotsDir, 'reserve');
    expect(existsSync(reserve)).toBe(true);
    const refuse = () => {
      if (existsSync(reserve)) noSpace();
    };
    await disturbed('writeFileSync', /-keys\.json$/, refuse, async () => {
      expect(await replica.checkKeys()).toBe(true);
    });
    expect(replica.text()).toBe(encodeKeys([revoked]));
  });

  test('stay valid when the depot is empty', async () => {
    const replica = start();
    await sender()(encodeKeys([approved]), Date.now());
    await replica.checkKeys();
    folder = newDepotFolder();
    await expect(start(replica.snapshotsDir).checkKeys()).rejects.toThrow('has no keys/release');
    expect(replica.text()).toBe(encodeKeys([approved]));
  });

  test('of a sender whose clock was set back, or that was restarted, are newer', async () => {
    const replica = start();
    await sender()(encodeKeys([approved]), Date.now());
    await replica.checkKeys();
    const slow = () => Date.now() - 3_600_000;
    await sender(signingKey, slow)(encodeKeys([revoked]), slow());
    expect(await replica.checkKeys()).toBe(true);
    expect(replica.text()).toBe(encodeKeys([revoked]));
  });
});

describe('a replica refuses keys', () => {
  async function expectRefused(expected: RegExp, tamper: () => Promise<unknown> | unknown) {
    const replica = start();
    await sender()(encodeKeys([revoked]), Date.now());
    await replica.checkKeys();
    await tamper();
    await expect(replica.checkKeys()).rejects.toThrow(expected);
    expect(replica.text()).toBe(encodeKeys([revoked]));
    expect(replica.state()?.refused?.error).toMatch(expected);
    // A restart changes nothing.
    await expect(start(replica.snapshotsDir).checkKeys()).rejects.toThrow(expected);
    expect(replica.text()).toBe(encodeKeys([revoked]));
  }

  test('that another key has signed', () =>
    expectRefused(/its signature is wrong/, () =>
      sender(newSigningKey().signingKey)(encodeKeys([approved]), Date.now()),
    ));

  test('that are offered again, also if the same keys were accepted before and after', async () => {
    const replica = start();
    const send = sender();
    await send(encodeKeys([revoked]), Date.now());
    await replica.checkKeys();
    await send(encodeKeys([approved]), Date.now());
    const between = readFileSync(releaseFile());
    await send(encodeKeys([revoked]), Date.now());
    await replica.checkKeys();
    writeFileSync(releaseFile(), between);
    for (const each of [replica, start(replica.snapshotsDir)]) {
      await expect(each.checkKeys()).rejects.toThrow('something older is offered again');
      expect(each.text()).toBe(encodeKeys([revoked]));
    }
  });

  test('that are older, also from another address of the depot or another depot', async () => {
    const replica = start();
    const send = sender();
    await send(encodeKeys([approved]), Date.now());
    await replica.checkKeys();
    const before = folder;
    const copy = newDepotFolder();
    cpSync(before, copy, { recursive: true });
    await send(encodeKeys([revoked]), Date.now());
    await replica.checkKeys();
    folder = copy;
    const moved = start(replica.snapshotsDir);
    await expect(moved.checkKeys()).rejects.toThrow(
      `was accepted before from ${before}: something`,
    );
    expect(replica.text()).toBe(encodeKeys([revoked]));
    // What the origin sends there from now on is newer.
    await sender()(encodeKeys([]), Date.now());
    expect(await moved.checkKeys()).toBe(true);
  });

  test('that an earlier signing key has signed, as long as that is trusted', async () => {
    const next = newSigningKey();
    const both = [...publicKeys, ...next.publicKeys];
    const replica = start(undefined, both);
    await sender()(encodeKeys([approved]), Date.now());
    await replica.checkKeys();
    const old = readFileSync(releaseFile());
    await sender(next.signingKey)(encodeKeys([revoked]), Date.now());
    await replica.checkKeys();
    writeFileSync(releaseFile(), old);
    for (const trusted of [both, next.publicKeys]) {
      const restarted = start(replica.snapshotsDir, trusted);
      await expect(restarted.checkKeys()).rejects.toThrow(/something older|signature is wrong/);
      expect(replica.text()).toBe(encodeKeys([revoked]));
    }
  });

  test('but accepts those of a new signing key, whatever the compromised one has signed', async () => {
    const replica = start();
    const farAhead = () => 9e15;
    await sender(signingKey, farAhead)(encodeKeys([approved]), Date.now());
    await replica.checkKeys();
    const next = newSigningKey();
    await sender(next.signingKey)(encodeKeys([revoked]), Date.now());
    expect(await start(replica.snapshotsDir, next.publicKeys).checkKeys()).toBe(true);
    expect(replica.text()).toBe(encodeKeys([revoked]));
  });

  test('whose content was changed', () =>
    expectRefused(/has another SHA-256/, async () => {
      await sender()(encodeKeys([approved]), Date.now());
      const { sha256 } = JSON.parse(readFileSync(releaseFile(), 'utf8'));
      writeFileSync(path.join(folder, `keys/${sha256}.json`), encodeKeys([]));
    }));
});
