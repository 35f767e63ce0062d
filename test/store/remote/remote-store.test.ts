/** The contract of remote stores, checked with each implementation. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { contentOf, readUpTo } from '../../../store/remote/content.ts';
import { openRemote } from '../../../store/remote/open-remote.ts';
import type { GetOptions, RemoteStore } from '../../../store/remote/remote.ts';
import { TransferError } from '../../../store/transfer/try-again.ts';

let folder: string;
let store: RemoteStore;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'remote-'));
  store = openRemote(folder, { stallSeconds: 5 });
});

afterEach(() => {
  store.close();
  rmSync(folder, { recursive: true, force: true });
});

async function read(name: string, options: GetOptions = {}): Promise<string> {
  const reply = await store.get(name, options);
  if (reply.status !== 'found') return reply.status;
  return `${reply.offset}:${await readUpTo(reply.bytes, 1e6)}`;
}

async function etagOf(name: string): Promise<string | undefined> {
  const reply = await store.get(name);
  if (reply.status !== 'found') return undefined;
  reply.drop();
  return reply.etag;
}

describe('a remote store', () => {
  test('returns what was put', async () => {
    await store.put('files/abc', contentOf('hello'));
    expect(await read('files/abc')).toBe('0:hello');
    expect(await store.get('files/ab')).toEqual({ status: 'missing' });
    expect(await store.get('files')).toEqual({ status: 'missing' });
    expect(await store.get('files/abc/d')).toEqual({ status: 'missing' });
  });

  test('continues at an offset, and starts over if the object ends before it', async () => {
    await store.put('files/abc', contentOf('hello'));
    expect(await read('files/abc', { offset: 2 })).toBe('2:llo');
    expect(await read('files/abc', { offset: 5 })).toBe('0:hello');
    expect(await read('files/abc', { offset: 9 })).toBe('0:hello');
  });

  test('knows an unchanged object by its etag', async () => {
    await store.put('current.json', contentOf('1'));
    const etag = await etagOf('current.json');
    expect(etag).toBeDefined();
    expect(await read('current.json', { etag })).toBe('unchanged');
    await store.put('current.json', contentOf('2'));
    expect(await read('current.json', { etag })).toBe('0:2');
  });

  test('lists by prefix, in order', async () => {
    expect(await store.list('')).toEqual([]);
    for (const name of ['b/2', 'b/1', 'a', 'bb/1', 'b/10/x']) {
      await store.put(name, contentOf(name));
    }
    const paths = async (prefix: string) => (await store.list(prefix)).map((object) => object.path);
    expect(await paths('')).toEqual(['a', 'b/1', 'b/10/x', 'b/2', 'bb/1']);
    expect(await paths('b/')).toEqual(['b/1', 'b/10/x', 'b/2']);
    expect(await paths('b/1')).toEqual(['b/1', 'b/10/x']);
    expect(await paths('c/')).toEqual([]);
    const [{ size, modifiedAt } = { size: 0, modifiedAt: new Date(0) }] = await store.list('b/10');
    expect(size).toBe(6);
    expect(Math.abs(Date.now() - modifiedAt.getTime())).toBeLessThan(60_000);
  });

  test('removes objects, also missing ones', async () => {
    await store.put('a', contentOf('a'));
    await store.remove('a');
    await store.remove('a');
    expect(await read('a')).toBe('missing');
  });

  test('refuses paths that lead elsewhere', async () => {
    for (const name of ['', '/a', 'a/', '../a', 'a/../b', '.a', 'a//b', 'a b', 'a?b', 'ä']) {
      await expect(store.get(name)).rejects.toThrow(/is not the path of an object/);
      await expect(store.put(name, contentOf(''))).rejects.toThrow(/is not the path of an object/);
      await expect(store.remove(name)).rejects.toThrow(/is not the path of an object/);
    }
  });

  test('counts what it transfers', async () => {
    await store.put('a', contentOf('12345'));
    await read('a', { offset: 2 });
    expect(store.traffic()).toEqual({ requests: 2, received: 3, sent: 5 });
  });

  test('ends calls when it is closed, or when they are aborted', async () => {
    await store.put('a', contentOf('a'));
    await expect(read('a', { signal: AbortSignal.abort(new Error('no more')) })).rejects.toThrow(
      'no more',
    );
    const reply = await store.get('a');
    store.close();
    if (reply.status !== 'found') throw new Error('a is missing.');
    await expect(readUpTo(reply.bytes, 9)).rejects.toThrow(/closed/);
    await expect(store.get('a')).rejects.toThrow(/closed/);
  });
});

describe('a folder as a remote store', () => {
  test('keeps the old object if a write fails, and leaves nothing behind', async () => {
    await store.put('a/b', contentOf('old'));
    const failing = {
      ...contentOf('new'),
      async *open() {
        yield Buffer.from('n');
        throw new Error('the disk is full');
      },
    };
    await expect(store.put('a/b', failing)).rejects.toThrow(/a\/b: the disk is full/);
    expect(await read('a/b')).toBe('0:old');
    expect(readdirSync(path.join(folder, 'a'))).toEqual(['b']);
  });

  test('removes what a killed writer left, but not what is being written', async () => {
    await store.put('a/b', contentOf('b'));
    const old = path.join(folder, 'a', '.unfinished-1');
    writeFileSync(old, 'x');
    utimesSync(old, 1000, 1000);
    writeFileSync(path.join(folder, 'a', '.unfinished-2'), 'x');
    expect((await store.list('')).map((object) => object.path)).toEqual(['a/b']);
    await store.removeUnfinished(new Date(Date.now() - 60_000));
    expect(readdirSync(path.join(folder, 'a')).sort()).toEqual(['.unfinished-2', 'b']);
  });

  test('that is missing is an error, and one that disappears may come back', async () => {
    expect(() => openRemote(path.join(folder, 'none'), { stallSeconds: 5 })).toThrow(
      /none does not exist/,
    );
    rmSync(folder, { recursive: true });
    await expect(store.get('a')).rejects.toThrow(TransferError);
    await expect(store.list('')).rejects.toThrow(TransferError);
    await expect(store.put('a/b', contentOf('b'))).rejects.toThrow(/ENOENT/);
    mkdirSync(folder);
    expect(await read('a')).toBe('missing');
  });
});
