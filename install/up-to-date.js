/**
 * Exits with 0 if node_modules contains every package of package-lock.json in its version, otherwise
 * with 1. The argument is "all" or "production".
 *
 * It is plain JavaScript, because it may run on an old Node, before the packages are installed.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const isProduction = process.argv[2] === 'production';
const isNewEnough = Number.parseInt(process.versions.node, 10) >= 24;

function packagesOf(file) {
  try {
    return JSON.parse(readFileSync(join(root, file), 'utf8')).packages;
  } catch {
    return {};
  }
}

// An optional package without a platform belongs to one with a platform.
function isForThisMachine({ os, cpu, libc }) {
  if (os === undefined && cpu === undefined) return false;
  const ownLibc = process.report.getReport().header.glibcVersionRuntime ? 'glibc' : 'musl';
  return (
    (os === undefined || os.includes(process.platform)) &&
    (cpu === undefined || cpu.includes(process.arch)) &&
    (libc === undefined || libc.includes(ownLibc))
  );
}

// npm writes this file at the end of an installation; after an interrupted one it is missing.
const installed = packagesOf('node_modules/.package-lock.json');
const isUpToDate = Object.entries(packagesOf('package-lock.json')).every(([path, wanted]) => {
  if (path === '' || (isProduction && wanted.dev)) return true;
  // These packages contain Node, for machines whose own Node is too old.
  if (path.startsWith('node_modules/node-linux-') && isNewEnough) return true;
  if (wanted.optional && !isForThisMachine(wanted)) return true;
  const found = installed[path];
  return (
    found?.version === wanted.version &&
    found.integrity === wanted.integrity &&
    existsSync(join(root, path, 'package.json'))
  );
});
process.exitCode = isUpToDate ? 0 : 1;
