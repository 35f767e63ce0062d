/** Forges a generation: changes a file, and gives it a manifest with the right sizes and hashes. */
import { hash } from 'node:crypto';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { MANIFEST } from '#lib/format/layout.ts';
import { encodeManifest, makeManifest } from '#lib/format/manifest.ts';
import { readManifest } from '#lib/generations/generations.ts';

/**
 * @param dir the folder of a generation, which gets the name of the forged one
 * @param change returns the other content of the file, in memory that begins at a multiple of 8
 * @returns the new folder and the id
 */
export function forgeFile(dir: string, name: string, change: (bytes: Uint8Array) => Uint8Array) {
  const file = path.join(dir, name);
  const content = change(new Uint8Array(readFileSync(file)));
  // Not into the file: it may be a link to that of another generation.
  rmSync(file);
  writeFileSync(file, content);
  const { sequence, ...manifest } = readManifest(dir);
  const forged = { path: name, size: content.length, sha256: hash('sha256', content) };
  const files = manifest.files.map((each) => (each.path === name ? forged : each));
  const next = makeManifest({ ...manifest, files }, sequence, manifest.files);
  writeFileSync(path.join(dir, MANIFEST), encodeManifest(next));
  const target = path.join(path.dirname(dir), next.id);
  renameSync(dir, target);
  return { dir: target, id: next.id };
}
