/**
 * The files of a generation as they are on disk, for downloads. They were opened when the generation was checked,
 * and stay open while a download needs them, whatever is published, pruned or replaced.
 *
 * Invariants: every piece comes from the file that was checked. No file is closed during a download: the threads
 * count them in memory that they share, and the first thread closes files only once the count is 0.
 */
import { type BigIntStats, fstat, read } from 'node:fs';
import { promisify } from 'node:util';
import type { Manifest, ManifestFile } from '../../lib/format/manifest.ts';
import { type Archive, archiveOf } from '../../lib/format/tar.ts';
import { identityIn } from '../../lib/generations/files/checked-files.ts';

/** In bytes. */
const PIECE = 64 * 1024;

// The cells of a count of downloads.
const UNDER_WAY = 0;
const BEGUN = 1;
/** Instead of the number under way, once the files are closed. */
const CLOSED = -1;

export const newDownloadCount = () => new Int32Array(new SharedArrayBuffer(8));

/** How many downloads that can be resumed have begun, also those that have ended. */
export const begunIn = (downloads: Int32Array): number => Atomics.load(downloads, BEGUN);

export const isUnderWay = (downloads: Int32Array): boolean =>
  Atomics.load(downloads, UNDER_WAY) > 0;

/** @returns whether no download is under way, and none can begin any more: the files may be closed */
export function endDownloads(downloads: Int32Array): boolean {
  return Atomics.compareExchange(downloads, UNDER_WAY, 0, CLOSED) === 0;
}

/** The open files of a generation. */
export interface FilesOnDisk {
  readonly manifest: Manifest;
  /** The manifest as a file. */
  readonly manifestFile: ManifestFile;
  /**
   * The descriptors of all files, by path. Packs are read from disk: opening them hashes every byte, so they
   * are in the page cache. The others are read for downloads only.
   */
  readonly descriptors: ReadonlyMap<string, number>;
  /** For each file, by path: its identity at the time of the check. */
  readonly identities: ReadonlyMap<string, string>;
  /** Counts the downloads, in memory that all threads share. */
  readonly downloads: Int32Array;
}

export class StoredFiles {
  readonly manifest: Manifest;
  readonly manifestFile: ManifestFile;
  private readonly descriptors: ReadonlyMap<string, number>;
  private readonly identities: ReadonlyMap<string, string>;
  private readonly downloads: Int32Array;
  private layout: Archive | undefined;

  constructor(opened: FilesOnDisk) {
    this.manifest = opened.manifest;
    this.manifestFile = opened.manifestFile;
    this.descriptors = opened.descriptors;
    this.identities = opened.identities;
    this.downloads = opened.downloads;
  }

  /**
   * Begins a download, or a part of one.
   * @param isResumable whether its client may come back for the rest
   * @returns false if the files are closed; otherwise, {@link release} must be called once
   */
  hold(isResumable = false): boolean {
    const { downloads } = this;
    for (;;) {
      const underWay = Atomics.load(downloads, UNDER_WAY);
      if (underWay === CLOSED) return false;
      if (Atomics.compareExchange(downloads, UNDER_WAY, underWay, underWay + 1) === underWay) break;
    }
    if (isResumable) Atomics.add(downloads, BEGUN, 1);
    return true;
  }

  release(): void {
    Atomics.sub(this.downloads, UNDER_WAY, 1);
  }

  isClosed(): boolean {
    return Atomics.load(this.downloads, UNDER_WAY) === CLOSED;
  }

  /** A file by its path in the manifest, or the manifest; undefined if there is none. */
  file(path: string): ManifestFile | undefined {
    const { manifest, manifestFile } = this;
    return [manifestFile, ...manifest.files].find((file) => file.path === path);
  }

  /** When the bytes of a file changed last, RFC 3339; undefined for the manifest. */
  changedAt(path: string): string | undefined {
    return this.manifest.files.find((file) => file.path === path)?.changed_at;
  }

  /** All files as one archive. Its headers are made once. */
  archive(): Archive {
    this.layout ??= archiveOf(this.manifest, this.manifestFile);
    return this.layout;
  }

  /**
   * Reads the bytes of a file from `from` (inclusive) to `to` (exclusive).
   * @throws Error if the file was overwritten or shortened since it was checked
   */
  async *read({ path, sha256 }: ManifestFile, from: number, to: number): AsyncGenerator<Buffer> {
    const descriptor = this.descriptors.get(path);
    // A read under way must end before the file is closed, also if its client has left.
    if (descriptor === undefined || !this.hold()) throw new Error(`${path} is not open.`);
    try {
      for (let at = from; at < to; ) {
        if (identityIn(await statOf(descriptor), sha256) !== this.identities.get(path)) {
          throw new Error(`${path} was overwritten since it was checked.`);
        }
        const buffer = Buffer.allocUnsafeSlow(Math.min(PIECE, to - at));
        const { bytesRead } = await readAt(descriptor, buffer, 0, buffer.length, at);
        if (bytesRead === 0) throw new Error(`${path} was shortened since it was checked.`);
        yield buffer.subarray(0, bytesRead);
        at += bytesRead;
      }
    } finally {
      this.release();
    }
  }
}

const readAt = promisify(read);

function statOf(descriptor: number): Promise<BigIntStats> {
  return new Promise((resolve, reject) => {
    fstat(descriptor, { bigint: true }, (error, stats) => (error ? reject(error) : resolve(stats)));
  });
}
