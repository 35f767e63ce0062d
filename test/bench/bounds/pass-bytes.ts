/**
 * Usage: node pass-bytes.ts hash|write FOLDER TARGET. Hashes all files of a folder once, or writes the same
 * bytes into another folder and syncs them.
 */
import { createHash } from 'node:crypto';
import { closeSync, fsyncSync, mkdirSync, openSync, readSync, writeSync } from 'node:fs';
import path from 'node:path';
import fastGlob from 'fast-glob';

const [task, folder = '', target = ''] = process.argv.slice(2);
const buffer = Buffer.allocUnsafeSlow(1024 * 1024);

for (const name of fastGlob.sync('**', { cwd: folder, dot: true })) {
  const source = openSync(path.join(folder, name), 'r');
  const file = path.join(target, name);
  if (task === 'write') mkdirSync(path.dirname(file), { recursive: true });
  const copy = task === 'write' ? openSync(file, 'w') : undefined;
  const sha256 = createHash('sha256');
  for (;;) {
    const length = readSync(source, buffer);
    if (length === 0) break;
    if (copy === undefined) sha256.update(buffer.subarray(0, length));
    else writeSync(copy, buffer, 0, length);
  }
  closeSync(source);
  if (copy === undefined) continue;
  fsyncSync(copy);
  closeSync(copy);
}
