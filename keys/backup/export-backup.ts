/**
 * Writes a backup of accounts, keys and their history to a file, from one consistent snapshot of the
 * database. A raw key is never part of it: the database has only hashes. The file appears under its name
 * when it is complete, and only its owner may read it.
 */
import { createHash, randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fchmodSync,
  fsyncSync,
  linkSync,
  openSync,
  rmSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import type { Database, Reader } from '../../database/database.ts';
import { messageOf } from '../../program/failure.ts';
import { viewsOf } from '../tables/accounts.ts';
import { BACKED_UP, type BackedUpTable } from './backed-up-tables.ts';
import { type Columns, type Counts, encodeEnd, encodeHead, encodeRow } from './backup-lines.ts';

/** In characters: how much is collected before it is written. */
const PIECE = 64 * 1024;

/** @throws Error if the file exists, or cannot be written; nothing is left of it then */
export async function exportBackup(database: Database, file: string): Promise<Counts> {
  if (existsSync(file)) throw existsError(file);
  const unfinished = `${file}.${randomBytes(4).toString('hex')}.unfinished`;
  const remove = () => rmSync(unfinished, { force: true });
  process.once('exit', remove);
  try {
    const counts = await writeTo(unfinished, database);
    publish(unfinished, file);
    return counts;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).syscall === undefined) throw cause;
    throw new Error(`${file} cannot be written: ${messageOf(cause)}`, { cause });
  } finally {
    remove();
    process.removeListener('exit', remove);
  }
}

async function writeTo(file: string, database: Database): Promise<Counts> {
  const output = openOutput(file);
  try {
    const tables = await existing(database);
    const columns: Columns = Object.fromEntries(tables.map((table) => [table.name, table.columns]));
    output.write(encodeHead(columns));
    const counts = await database.snapshot((reader) => writeRows(reader, tables, output.write));
    output.finish(counts);
    return counts;
  } finally {
    output.close();
  }
}

/** A site's own accounts are a view, which the site backs up. */
async function existing(database: Database): Promise<BackedUpTable[]> {
  const found = await database.columns();
  const views = await viewsOf(database);
  return BACKED_UP.filter(({ name }) => found.has(name) && !views.has(name));
}

async function writeRows(
  reader: Reader,
  tables: readonly BackedUpTable[],
  write: (text: string) => void,
): Promise<Counts> {
  const counts: Record<string, number> = {};
  for (const { name, columns, key } of tables) {
    const sql = `SELECT ${columns.join(', ')} FROM ${name} ORDER BY ${key.join(', ')}`;
    let written = 0;
    await reader.each(sql, (row) => {
      write(encodeRow(name, row));
      written++;
    });
    await checkCount(reader, name, written);
    counts[name] = written;
  }
  return counts;
}

/** If KILL QUERY cuts a stream, it ends as if it were complete. */
async function checkCount(reader: Reader, table: string, written: number): Promise<void> {
  const [[count] = []] = await reader.rows(`SELECT COUNT(*) FROM ${table}`);
  if (Number(count) === written) return;
  throw new Error(`The table ${table} has ${count} rows, but its read ended after ${written}.`);
}

function openOutput(file: string) {
  const descriptor = openSync(file, 'wx', 0o600);
  // The umask may have removed permissions.
  fchmodSync(descriptor, 0o600);
  const sum = createHash('sha256');
  let waiting = '';
  const flush = () => {
    writeAll(descriptor, Buffer.from(waiting));
    waiting = '';
  };
  return {
    write(text: string): void {
      sum.update(text);
      waiting += text;
      if (waiting.length > PIECE) flush();
    },
    finish(counts: Counts): void {
      waiting += encodeEnd(counts, sum.digest('hex'));
      flush();
      fsyncSync(descriptor);
    },
    close: () => closeSync(descriptor),
  };
}

function writeAll(descriptor: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(descriptor, bytes, at);
}

/** Gives the complete file its name. Unlike a rename, a link never replaces a file. */
function publish(unfinished: string, file: string): void {
  try {
    linkSync(unfinished, file);
  } catch (cause) {
    throw (cause as NodeJS.ErrnoException).code === 'EEXIST' ? existsError(file) : cause;
  }
  const folder = openSync(path.dirname(file), 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

function existsError(file: string): Error {
  return new Error(`${file} exists already. A backup replaces no file: choose another name.`);
}
