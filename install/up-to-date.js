/**
 * Exits with 0 when node_modules holds every package that package-lock.json asks for, "all" or
 * "production", in its version; else with 1.
 *
 * Plain JavaScript, since it runs before the Node that reads TypeScript is there.
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

// An optional package that names no machine is a part of one that does.
function isForThisMachine({ os, cpu, libc }) {
  if (os === undefined && cpu === undefined) return false;
  const ownLibc = process.report.getReport().header.glibcVersionRuntime ? 'glibc' : 'musl';
  return (
    (os === undefined || os.includes(process.platform)) &&
    (cpu === undefined || cpu.includes(process.arch)) &&
    (libc === undefined || libc.includes(ownLibc))
  );
}

// What npm itself notes of a finished installation; absent after one that was cut short.
const installed = packagesOf('node_modules/.package-lock.json');
const isUpToDate = Object.entries(packagesOf('package-lock.json')).every(([path, wanted]) => {
  if (path === '' || (isProduction && wanted.dev)) return true;
  // These bring a Node to machines whose own is too old.
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
