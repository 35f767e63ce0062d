/** A hostile origin: whatever it sends is refused by name, in few bytes, and nothing of it stays. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import path from 'node:path';
import { createGzip, gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { openDepot, openWritableDepot } from '#depot/open.ts';
import { pushConfigured } from '#depot/push.ts';
import { readWhole } from '#depot/transfers.ts';
import { LARGEST_MANIFEST, type Manifest, makeManifest } from '#lib/format/manifest.ts';
import {
  encodeRelease,
  makeRelease,
  RELEASES,
  storedFile,
  storedManifest,
} from '#lib/format/release.ts';
import { currentId } from '#lib/generations/generations.ts';
import { readReplicaState } from '#lib/generations/state-files.ts';
import { SILENT } from '#lib/program/progress.ts';
import { makeFolder, testKey } from '#test/support/product.ts';
import {
  makeOrigin,
  makePatientClock,
  newDepotFolder,
  pushTo,
  readDepot,
  startReplica,
} from '#test/support/replicas.ts';
import { serve } from '#test/support/servers/static-files.ts';

const origin = await makeOrigin();
const { manifest } = await readDepot(origin.depot);

const LONGEST_ERROR = 600;
const sha256Of = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest('hex');

/** Pulls from a depot and expects an error, whose text is returned; nothing is published or left. */
async function expectRefused(depot: ReturnType<typeof openDepot>): Promise<string> {
  const { snapshotsDir, checkSnapshot } = startReplica(depot);
  const error = await checkSnapshot().catch((reason) => reason);
  depot.close();
  expect(error).toBeInstanceOf(Error);
  expect(error.message.length).toBeLessThan(LONGEST_ERROR);
  expect(error.message).toMatch(/^[ -~…]+$/);
  expect(currentId(snapshotsDir)).toBeUndefined();
  const { error: failed, refused } = readReplicaState(snapshotsDir)?.snapshot ?? {};
  expect(failed ?? refused?.error).toBe(error.message);
  const staging = path.join(snapshotsDir, 'pull');
  expect(existsSync(staging) ? readdirSync(staging) : []).toEqual([]);
  return error.message;
}

/** A depot in a folder with a manifest, and a release that names it. */
function offering(encoded: Buffer | string, id = manifest.id) {
  const folder = newDepotFolder();
  const write = (name: string, bytes: Buffer | string) => {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), bytes);
  };
  const release = makeRelease('snapshot', {
    id,
    sequence: 1,
    sha256: sha256Of(encoded),
    released_at: null,
  });
  write(RELEASES.snapshot, encodeRelease(release));
  write(storedManifest(id), encoded);
  return { write, folder, depot: openWritableDepot(folder) };
}

describe('a manifest', () => {
  test.each([
    ['that is nested', Buffer.alloc(100_000, '['), /nested more than 8 deep/],
    ['of empty arrays', `{"x":[${'[],'.repeat(300_000)}0]}`, /has more than 91000 arrays and/],
    ['that is too large', Buffer.alloc(LARGEST_MANIFEST + 1, ' '), /more than the expected/],
    [
      'with a long, odd version',
      JSON.stringify({ format_version: `\u001b[31m\u009b${'x'.repeat(900_000)}` }),
      /format version "\\u001b\[31m\?x+\.\.\.; this/,
    ],
    [
      'with a path that leads outside',
      JSON.stringify({ ...manifestWith('../../../etc/passwd') }),
      /"files" is \[\{"path":"\.\.\/\.\.\//,
    ],
  ])('%s is refused', async (_name, encoded, expected) => {
    expect(await expectRefused(offering(encoded).depot)).toMatch(expected);
  });

  test('of another generation than the release names is refused', async () => {
    const { depot } = offering(JSON.stringify(manifest), '000099-8b1a9953c461');
    expect(await expectRefused(depot)).toMatch(`it belongs to ${manifest.id}`);
  });

  test('that announces more than the disk has is refused before anything is fetched', async () => {
    const hostile = announcing(9e15);
    const { depot } = offering(JSON.stringify(hostile), hostile.id);
    expect(await expectRefused(depot)).toMatch(/announces 9000000000\.\d MB.*MB free/);
  });
});

/** A manifest that names a path besides the fixed ones; made before the origin is. */
function manifestWith(name: string): object {
  const file = { path: name, size: 1, sha256: 'a'.repeat(64) };
  const counts = { platforms: 0, games: 0, covers: 0, cover_files: 0, left_out: 0 };
  const settings = { site_url: '', site_language: '', files_url: '' };
  const content = { latest_cover_at: null, counts, settings };
  return makeManifest({ ...content, files: [file] }, 1);
}

/** The manifest of the origin, with another size of one file. */
function announcing(size: number): Manifest {
  const { sequence, ...content } = manifest;
  const files = manifest.files.map((file) =>
    file.path === 'search.json' ? { ...file, size, sha256: 'b'.repeat(64) } : file,
  );
  return makeManifest({ ...content, files }, sequence);
}

describe('a file', () => {
  test.each([
    [
      'that is a bomb',
      zstdCompressSync(Buffer.alloc(50_000_000)),
      /more than the expected \d+ bytes/,
    ],
    ['that needs a large window', Buffer.from('28b52ffd00b8010000', 'hex'), /is damaged: .*memory/],
    ['that is not compressed', 'hello', /is damaged: /],
  ])('%s is refused', async (_name, bytes, expected) => {
    const hostile = announcing(1000);
    const { depot, write } = offering(JSON.stringify(hostile), hostile.id);
    for (const { sha256 } of hostile.files) write(storedFile(sha256), bytes);
    expect(await expectRefused(depot)).toMatch(expected);
  });
});

describe('a transfer that decompresses to nothing', () => {
  const SKIPPABLE = Buffer.concat([Buffer.from('502a4d18f8ff0000', 'hex'), Buffer.alloc(0xfff8)]);
  const endless = (unit: Buffer): RequestListener => {
    const piece = Buffer.concat(Array(Math.ceil(65_536 / unit.length)).fill(unit));
    return (_request, response) => {
      const more = () => {
        while (response.write(piece));
        response.once('drain', more);
      };
      more();
    };
  };

  test.each([
    ['skippable frames', SKIPPABLE],
    ['empty frames', zstdCompressSync('')],
  ])('%s are refused when they are longer than the file can be', async (_name, unit) => {
    const hostile = announcing(1000);
    const { folder, depot } = offering(JSON.stringify(hostile), hostile.id);
    depot.close();
    const url = await serve((request, response) => {
      const name = request.url?.slice(1) ?? '';
      if (name.startsWith('files/')) endless(unit)(request, response);
      else response.end(readFileSync(path.join(folder, name)));
    });
    expect(await expectRefused(openDepot(url))).toMatch(/is sent as more bytes than \d+ need/);
  });

  test('empty members of gzip are refused, and end a push', async () => {
    const url = await serve((request, response) => {
      response.setHeader('content-encoding', 'gzip');
      endless(gzipSync(''))(request, response);
    });
    const environment = {
      AWS_ACCESS_KEY_ID: 'id',
      AWS_SECRET_ACCESS_KEY: 'secret',
      AWS_ENDPOINT_URL_S3: url,
    };
    const depot = openWritableDepot('s3://catalogue', { environment });
    await expect(pushTo(depot, origin.snapshotsDir)).rejects.toThrow(/more bytes than 4096 need/);
    depot.close();
  });
});

test('a transfer that is slower on the whole than any network fails, though it never stands still', async () => {
  const clock = makePatientClock();
  const bytes = async function* () {
    for (;;) {
      clock.skip(1_000);
      yield Buffer.from('x');
    }
  };
  const reading = readWhole({ bytes: bytes() }, 1_000, 'An object', clock);
  await expect(reading).rejects.toThrow('An object was not complete after 30 s');
});

test('a push to a depot that is slow in any other way ends', async () => {
  let pages = 0;
  const url = await serve((_request, response) => {
    const token = `<NextContinuationToken>${++pages}</NextContinuationToken>`;
    response.end(`<ListBucketResult>${token}</ListBucketResult>`);
  });
  const settings = {
    SNAPSHOTS_DIR: origin.snapshotsDir,
    SNAPSHOT_PUSH: 's3://catalogue',
    SNAPSHOT_SIGNING_KEY: '',
  };
  const environment = {
    AWS_ACCESS_KEY_ID: 'id',
    AWS_SECRET_ACCESS_KEY: 'secret',
    AWS_ENDPOINT_URL_S3: url,
  };
  const pushing = pushConfigured(settings, environment, SILENT, 0);
  await expect(pushing).rejects.toThrow(
    's3://catalogue is too slow: the push was ended after 0 s.',
  );
});

describe('an API', () => {
  async function serving(answer: RequestListener) {
    const keyFile = path.join(makeFolder(), 'key');
    writeFileSync(keyFile, testKey(1).key);
    return openDepot(`${await serve(answer)}/api/v1/snapshot`, { keyFile });
  }

  test('whose manifest never ends is refused', async () => {
    const depot = await serving((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      const gzip = createGzip();
      gzip.pipe(response);
      const more = () => {
        while (gzip.write(Buffer.alloc(1_000_000, '[')));
        gzip.once('drain', more);
      };
      response.on('close', () => gzip.destroy());
      more();
    });
    expect(await expectRefused(depot)).toMatch(/^The manifest of http.* more than the expected/);
  });

  test('whose errors and headers are odd shows nothing of them to the terminal', async () => {
    const odd = `\u001b]0;title\u0007${'x'.repeat(5_000)}`;
    for (const [status, headers] of [
      [403, {}],
      [301, { location: `https://evil.example/${'y'.repeat(9_000)}` }],
      [500, { 'retry-after': '1e99' }],
    ] as const) {
      const depot = await serving((_request, response) => {
        response.writeHead(status, headers).end(JSON.stringify({ error: odd }));
      });
      expect(await expectRefused(depot)).toMatch(`answers ${status}`);
    }
  });

  test('that sends another coding than it was asked for is refused', async () => {
    const depot = await serving((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'br' }).end('x');
    });
    expect(await expectRefused(depot)).toMatch(/^The manifest of http.* is refused: /);
  });
});
