/**
 * Records the syncs and renames of a program that is started with `--import` of this file. Each fsync
 * and rename inside RECORDED_DIR becomes a line of RECORD_LOG when it has ended.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';

const { RECORDED_DIR = '', RECORD_LOG = '' } = process.env;
const { appendFileSync, fsync, fsyncSync, readlinkSync, renameSync } = fs;

function record(...words: string[]): void {
  appendFileSync(RECORD_LOG, `${words.join(' ')}\n`);
}

/** The relative path of an open file, "" for the folder itself; undefined if it is outside. */
function nameOf(descriptor: number): string | undefined {
  const name = path.relative(RECORDED_DIR, readlinkSync(`/proc/self/fd/${descriptor}`));
  return name.startsWith('..') ? undefined : name;
}

fs.fsyncSync = (descriptor) => {
  fsyncSync(descriptor);
  const name = nameOf(descriptor);
  if (name !== undefined) record('fsync', name);
};

fs.fsync = ((descriptor, done) => {
  const name = nameOf(descriptor);
  fsync(descriptor, (error) => {
    if (name !== undefined && error === null) record('fsync', name);
    done(error);
  });
}) as typeof fsync;

fs.renameSync = (from, to) => {
  renameSync(from, to);
  record('rename', ...[from, to].map((file) => path.relative(RECORDED_DIR, String(file))));
};

syncBuiltinESMExports();
