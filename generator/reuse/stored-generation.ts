/**
 * The generation of the earlier run: its records, and what was made of them. What is read of it is checked by its
 * hash first; a file that is linked has the state that it had after that run.
 */
import { closeSync, linkSync, openSync, statSync } from 'node:fs';
import path from 'node:path';
import { hashBytes } from '../../lib/format/content-hash.ts';
import { type Id, idAt } from '../../lib/format/index/ids.ts';
import type { RecordIndex } from '../../lib/format/index/record-index.ts';
import { openRecordIndex, platformOf } from '../../lib/format/index/record-index.ts';
import { gamesPack } from '../../lib/format/layout.ts';
import type { ManifestFile } from '../../lib/format/manifest.ts';
import { titleOfRecord } from '../../lib/format/pack.ts';
import { readExactly } from '../../lib/generations/files/checked-files.ts';
import { hasModes, modesIn } from '../../lib/generations/files/file-modes.ts';
import { filesIn } from '../../lib/generations/generations.ts';
import type { FileChecks } from '../../lib/generations/verify.ts';
import { getOrAdd } from '../../lib/program/get-or-add.ts';
import { blockOf } from './blocks.ts';
import type { EarlierRun } from './earlier-run.ts';

/** Games and covers are given by their numbers in this generation. */
export class StoredGeneration {
  readonly run: EarlierRun;
  readonly index: RecordIndex;
  /** For each game: 1 if it is not read again; otherwise 0. */
  readonly isKept: Uint8Array;
  private readonly fileOf: (name: string) => ManifestFile;
  private readonly readFile: FileChecks['read'];
  private readonly newDir: string;
  private readonly descriptors = new Map<string, number>();

  /** @param isRead whether the games of a block are read again @param newDir the folder of the new generation */
  constructor(
    run: EarlierRun,
    isRead: (block: string) => boolean,
    readFile: FileChecks['read'],
    newDir: string,
  ) {
    this.run = run;
    this.newDir = newDir;
    this.fileOf = filesIn(run.manifest);
    this.readFile = readFile;
    this.index = openRecordIndex((name) => this.read(name));
    this.isKept = findKept(this.index, run.shifts.game, isRead);
  }

  /** @throws Error if the record is damaged */
  title(game: number): string {
    const { platforms, games } = this.index;
    const { slug } = platforms[platformOf(platforms, 'firstGame', game)];
    const name = gamesPack(slug);
    const open = () => openSync(path.join(this.run.dir, name), 'r');
    const bytes = Buffer.allocUnsafe(games.byteLength[game]);
    const descriptor = getOrAdd(this.descriptors, name, open);
    readExactly(descriptor, bytes, 0, bytes.length, games.byteOffset[game], name);
    if (!hasHash(bytes, games.hash, game))
      throw new Error(`a record in ${name} of the current generation is damaged`);
    return titleOfRecord(bytes.toString());
  }

  /** The content of a file. @throws Error if it is damaged */
  readonly read = (name: string): Buffer => this.readFile(this.run.dir, this.fileOf(name));

  /** Links a file into the new generation. @returns undefined if the file must be written */
  link(name: string): ManifestFile | undefined {
    const [source, link] = [path.join(this.run.dir, name), path.join(this.newDir, name)];
    try {
      // The link has the permissions of the old file, which may be wrong for this generation.
      const modes = modesIn(path.dirname(link));
      if (!hasModes(statSync(source), modes.file, modes)) return undefined;
      linkSync(source, link);
      return this.fileOf(name);
    } catch {
      return undefined;
    }
  }

  close(): void {
    for (const descriptor of this.descriptors.values()) closeSync(descriptor);
    this.descriptors.clear();
  }
}

/** Whether bytes have the hash of a record. */
export function hasHash(bytes: Buffer, hash: Uint32Array, record: number): boolean {
  const [high, low] = hashBytes(bytes);
  return high === hash[record * 2] && low === hash[record * 2 + 1];
}

function findKept(
  { games }: RecordIndex,
  shift: number,
  isRead: (block: string) => boolean,
): Uint8Array {
  const isKept = new Uint8Array(games.rank.length).fill(1);
  let last: Id = [-1, 0];
  let isLastRead = false;
  games.numberOfId.forEach((number, position) => {
    const id = idAt(games, position);
    // Ids ascend, so most are in the block of the one before.
    const isSameBlock = id[0] === last[0] && id[1] >>> shift === last[1] >>> shift;
    if (!isSameBlock || shift > 31) isLastRead = isRead(blockOf(id, shift));
    last = id;
    if (isLastRead) isKept[number] = 0;
  });
  return isKept;
}
