/**
 * Simulates a failing disk in a program that is started with `--import` of this file. It counts the
 * calls to `node:fs` on FAULT_DIR (and the opening of the lock's database). Call number FAULT_CALL fails with FAULT_CODE, and with FAULT_LASTING=always
 * every later call that writes fails too. Each failed call is a line in FAULT_LOG. A failed write has
 * written half of its bytes.
 */
import fs, { constants } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import sqlite from 'node:sqlite';

type Call = (...args: unknown[]) => unknown;

const { FAULT_DIR = '', FAULT_LOG = '', FAULT_CODE = 'EIO' } = process.env;
const { FAULT_LASTING } = process.env;
const FAULT_CALL = Number(process.env.FAULT_CALL);
const NUMBERS: Readonly<Record<string, number>> = { EIO: 5, EMFILE: 24, ENOSPC: 28, EROFS: 30 };

const calls = fs as unknown as Record<string, Call>;
const { appendFileSync, readlinkSync, closeSync, writeSync } = fs;
const WRITES = new Set(
  ['write', 'writeFile', 'fsync', 'rename', 'link', 'symlink', 'rm', 'mkdir', 'utimes'].flatMap(
    (name) => [name, `${name}Sync`],
  ),
);
const READS = ['open', 'read', 'close', 'readFile', 'readlink', 'readdir', 'stat', 'lstat'];

let count = 0;

function isOurs(target: unknown): boolean {
  if (typeof target === 'string') return target.startsWith(FAULT_DIR);
  if (typeof target !== 'number') return false;
  try {
    return readlinkSync(`/proc/self/fd/${target}`).startsWith(FAULT_DIR);
  } catch {
    return false;
  }
}

function isForReading(flags: unknown): boolean {
  return flags === 'r' || (typeof flags === 'number' && (flags & 3) === constants.O_RDONLY);
}

/** Counts a call. @returns the error to fail with; undefined if the call must not fail */
function faultOf(name: string, args: readonly unknown[]): Error | undefined {
  if (!isOurs(name.startsWith('symlink') ? args[1] : args[0])) return undefined;
  count++;
  const isWriting = WRITES.has(name) || (name === 'openSync' && !isForReading(args[1]));
  const isLater = FAULT_LASTING === 'always' && count > FAULT_CALL && isWriting;
  if (count !== FAULT_CALL && !isLater) return undefined;
  appendFileSync(FAULT_LOG, `${name} ${String(args[0])}\n`);
  const errno = -NUMBERS[FAULT_CODE];
  const message = `${FAULT_CODE}: simulated, ${name} '${String(args[0])}'`;
  return Object.assign(new Error(message), { code: FAULT_CODE, errno, syscall: name });
}

for (const name of [...WRITES]
  .filter((each) => each.endsWith('Sync'))
  .concat(READS.map((each) => `${each}Sync`))) {
  const call = calls[name];
  calls[name] = (...args) => {
    const fault = faultOf(name, args);
    if (fault === undefined) return call(...args);
    const bytes = args[1];
    if (name === 'writeSync' && bytes instanceof Uint8Array) {
      const [at, length] = [Number(args[2] ?? 0), Number(args[3] ?? bytes.length)];
      writeSync(args[0] as number, bytes, at, length >> 1, args[4] as number | undefined);
    } else if (name === 'writeFileSync') {
      call(args[0], String(bytes).slice(0, String(bytes).length >> 1));
    } else if (name === 'closeSync') {
      // Linux closes the descriptor even if close fails.
      closeSync(args[0] as number);
    }
    throw fault;
  };
}

calls.existsSync = (
  (call) =>
  (...args) =>
    faultOf('existsSync', args) ? false : call(...args)
)(calls.existsSync as Call);

for (const name of ['fsync', 'close', 'readdir', 'stat', 'lstat']) {
  const call = calls[name];
  calls[name] = (...args) => {
    const fault = faultOf(name, args);
    if (fault === undefined) return call(...args);
    if (name === 'close') closeSync(args[0] as number);
    return setImmediate(args.at(-1) as (error: Error) => void, fault);
  };
}

const { DatabaseSync } = sqlite;
sqlite.DatabaseSync = class extends DatabaseSync {
  constructor(...args: ConstructorParameters<typeof DatabaseSync>) {
    const fault = faultOf('openSync', args);
    if (fault) throw fault;
    super(...args);
  }
};

syncBuiltinESMExports();
