/**
 * Identifies the program, so that a run never uses what another version has cached. It is the hash of the
 * sources: a number that somebody must increase would be forgotten one day.
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const ROOT = path.join(import.meta.dirname, '../..');
/** The folders that affect what a generation contains. */
const FOLDERS = ['database', 'format', 'generator', 'program', 'store'];

export function programVersion(): string {
  const sha256 = createHash('sha256');
  sha256.update(JSON.stringify(process.versions));
  const packageFile = path.join(ROOT, 'package.json');
  if (existsSync(packageFile)) sha256.update(readFileSync(packageFile));
  for (const folder of FOLDERS) {
    const files = readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' });
    for (const name of files.filter((file) => /\.[jt]s$/.test(file)).sort()) {
      sha256.update(`\n${folder}/${name}\n`);
      sha256.update(readFileSync(path.join(ROOT, folder, name)));
    }
  }
  return sha256.digest('hex');
}
