/** A generation as a tar file, read by GNU tar. */
import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { FIXED_FILES } from '#lib/format/layout.ts';
import { makeManifest } from '#lib/format/manifest.ts';
import { archiveOf, readArchive } from '#lib/format/tar.ts';

const NOW = Date.UTC(2026, 10, 27, 12);

test('names of any length, sizes and times are those of the manifest', async () => {
  const packs = [1, 88, 89, 95, 150, 191].map((length) => `games/${'a'.repeat(length)}.json`);
  const files = [...FIXED_FILES, ...packs].map((path, size) => ({ path, size, sha256: '' }));
  const counts = { platforms: 0, games: 0, covers: 0, cover_files: 0, left_out: 0 };
  const settings = { site_url: '', site_language: '', files_url: '' };
  const content = { latest_cover_at: null, counts, settings, files };
  const manifest = makeManifest(content, 1, [], NOW);
  const archive = archiveOf(manifest, { path: 'manifest.json', size: 513, sha256: '' });
  const pieces: Buffer[] = [];
  const read = readArchive(archive, 0, archive.size, async function* (_, from, to) {
    yield Buffer.alloc(to - from);
  });
  for await (const piece of read) pieces.push(piece);
  const input = Buffer.concat(pieces);
  expect(input.length).toBe(archive.size);
  const args = ['-tvf', '-', '--utc', '--full-time', '--numeric-owner'];
  const lines = execFileSync('tar', args, { input }).toString().trim().split('\n');
  const entries = [{ path: 'manifest.json', size: 513 }, ...manifest.files];
  expect(lines.map((line) => line.replaceAll(/ +/g, ' '))).toEqual(
    entries.map(({ path, size }) => `-rw-r--r-- 0/0 ${size} 2026-11-27 12:00:00 ${path}`),
  );
});
