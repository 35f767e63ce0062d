/**
 * Makes the generation that a release names the current one of a snapshots folder: fetches the files that
 * are not there yet, links the others, and publishes it under its id. Every byte is checked against the
 * manifest, the manifest against the release, and the values on which readers rely against one another.
 *
 * Invariant: until a generation is complete and verified, the old one stays current. Complete files of a pull
 * that fails or is killed stay in `pull/` for the next one, each under its SHA-256.
 */
import { hash } from 'node:crypto';
import { createWriteStream, readdirSync, renameSync, rmSync, statfsSync } from 'node:fs';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { PULL_FOLDER } from '../lib/format/layout.ts';
import {
  LARGEST_MANIFEST,
  type Manifest,
  type ManifestFile,
  parseManifest,
} from '../lib/format/manifest.ts';
import { type Release, storedFile, storedManifest } from '../lib/format/release.ts';
import { makeKnownFiles } from '../lib/generations/files/checked-files.ts';
import { linkOrCopy, makeFolder, openForWriting } from '../lib/generations/files/file-modes.ts';
import { generationDir } from '../lib/generations/generations.ts';
import { HeldError, whyHeld } from '../lib/generations/hold.ts';
import { withRunLock } from '../lib/generations/lock.ts';
import { beginGeneration, ONLY_CURRENT } from '../lib/generations/prune.ts';
import { type Previous, publishAs, readPrevious } from '../lib/generations/publish.ts';
import { type CheckFind, withoutRecords } from '../lib/generations/verify.ts';
import { messageOf } from '../lib/program/failure.ts';
import {
  type Depot,
  orRefuse,
  RefusedReleaseError,
  TransferError,
  type TransferredObject,
} from './depot.ts';
import type { ReleasePollOptions } from './release.ts';
import {
  checkedContent,
  megabytes,
  readObject,
  totalSize,
  transferAll,
  tryAgain,
} from './transfers.ts';

/** Several servers of one API may change to a newer generation one after another. */
const NEXT_RELEASE_MS = 200;

export interface Pulled {
  readonly manifest: Manifest;
  /** How many different files were fetched and were there already, and how many bytes were received. */
  readonly fetched: number;
  readonly linked: number;
  readonly received: number;
}

export interface PullOptions extends ReleasePollOptions {
  /** Checks the files by which games are found. */
  readonly checkFind: CheckFind;
}

export class Pull {
  private readonly staging: string;
  /** Remembers the files that it has found intact, so that they are not hashed again. */
  private readonly isKnown: (dir: string, file: ManifestFile) => boolean;
  private readonly depot: Depot;
  private readonly options: PullOptions;

  constructor(depot: Depot, options: PullOptions) {
    this.depot = depot;
    this.options = options;
    this.staging = path.join(options.snapshotsDir, PULL_FOLDER);
    this.isKnown = makeKnownFiles(options.clock.now);
  }

  /**
   * @returns undefined if the generation is current and intact
   * @throws LockedError, HeldError, RefusedReleaseError; TransferError if the depot no longer has something;
   * any other Error names what failed
   */
  async run(release: Release): Promise<Pulled | undefined> {
    const { snapshotsDir } = this.options;
    const held = whyHeld(snapshotsDir);
    if (held !== undefined) throw new HeldError(held);
    return withRunLock(snapshotsDir, () => this.runLocked(release));
  }

  private async runLocked(release: Release): Promise<Pulled | undefined> {
    const { snapshotsDir, report, checkFind } = this.options;
    const { dir, clear } = beginGeneration(snapshotsDir);
    try {
      const { manifest, encoded } = await this.readManifest(release);
      const previous = readPrevious(snapshotsDir);
      const here = generationDir(snapshotsDir, manifest.id);
      const isHere = () => manifest.files.every((file) => this.isKnown(here, file));
      let pulled: Pulled | undefined;
      if (previous.id !== manifest.id || !previous.manifest || !isHere()) {
        makeFolder(this.staging);
        const { sources, ...counts } = await this.gather(manifest, previous);
        for (const { path: name, sha256 } of manifest.files) {
          linkOrCopy(sources.get(sha256) ?? '', path.join(dir, name));
        }
        report.step('verifying and publishing');
        // What was taken down at the origin goes here too. Its operator is the one who rolls back.
        const checks = withoutRecords(this.isKnown, checkFind);
        const steps = { warn: report.warn, checks, keep: ONLY_CURRENT };
        await publishAs(snapshotsDir, dir, encoded, previous, steps);
        pulled = { manifest, ...counts };
      }
      try {
        rmSync(this.staging, { recursive: true, force: true });
      } catch (error) {
        // The generation is current: the pull has not failed.
        report.warn(`${this.staging} was not removed: ${messageOf(error)}`);
      }
      return pulled;
    } finally {
      clear();
    }
  }

  private async readManifest({ id, sha256 }: Release) {
    const { depot } = this;
    const name = storedManifest(id);
    const encoded = await readObject(depot, name, LARGEST_MANIFEST, this.options.clock);
    if (encoded === undefined) throw this.gone(name);
    return orRefuse(`The manifest of ${id} at ${depot.name}`, () => {
      if (hash('sha256', encoded) !== sha256) {
        throw new Error(
          'it does not have the SHA-256 in the release. Remove it there, and push again.',
        );
      }
      const manifest = parseManifest(encoded);
      if (manifest.id !== id) throw new Error(`it belongs to ${manifest.id}.`);
      return { manifest, encoded };
    });
  }

  /** The depot no longer has what its release named, because a newer one is there, or comes soon. */
  private gone(name: string): TransferError {
    const error = new TransferError(`${this.depot.name} no longer has ${name}`);
    return Object.assign(error, { waitMs: NEXT_RELEASE_MS });
  }

  /**
   * Fetches the files of the manifest that are neither in the current generation nor in the staging folder.
   * @returns also which file has which content, by SHA-256
   */
  private async gather({ id, files }: Manifest, previous: Previous) {
    const { depot, staging } = this;
    const { snapshotsDir, report, clock } = this.options;
    const contents = new Map(files.map((file) => [file.sha256, file]));
    for (const name of readdirSync(staging)) {
      if (!contents.has(name)) rmSync(path.join(staging, name), { recursive: true, force: true });
    }
    const local = new Map(previous.manifest?.files.map((file) => [file.sha256, file]));
    const dir = generationDir(snapshotsDir, previous.id ?? '');
    const sources = new Map<string, string>();
    const missing = [...contents.values()].filter(({ sha256, size }) => {
      const found = local.get(sha256);
      const isLocal = found !== undefined && this.isKnown(dir, { ...found, size });
      sources.set(sha256, isLocal ? path.join(dir, found.path) : path.join(staging, sha256));
      return !isLocal && !this.isKnown(staging, { path: sha256, sha256, size });
    });
    const size = totalSize(missing);
    const { bavail, bsize } = statfsSync(staging);
    if (size > bavail * bsize) {
      throw new Error(
        `ENOSPC: ${depot.name} announces ${megabytes(size)} MB, and ${snapshotsDir} has ${megabytes(bavail * bsize)} MB free.`,
      );
    }
    report.step(
      `${id}: ${missing.length} of ${contents.size} files are not here yet (${megabytes(size)} MB)`,
    );
    let received = 0;
    async function* counted(bytes: TransferredObject['bytes']) {
      for await (const piece of bytes) {
        received += piece.length;
        yield piece;
      }
    }
    const fetch = async (file: ManifestFile): Promise<void> => {
      const name = storedFile(file.sha256);
      const fetchOnce = async () => {
        const found = await depot.get(name);
        if (found !== undefined)
          await this.save({ ...found, bytes: counted(found.bytes) }, file, name);
        return found !== undefined;
      };
      if (!(await tryAgain(file.path, fetchOnce, clock))) throw this.gone(name);
    };
    await transferAll('fetching', missing, fetch, report);
    return { sources, fetched: missing.length, linked: contents.size - missing.length, received };
  }

  /** Saves a file under its SHA-256. It has that name only when it is complete and intact. */
  private async save(found: TransferredObject, file: ManifestFile, name: string): Promise<void> {
    const what = `${name} at ${this.depot.name} (${file.path})`;
    const part = { ...file, path: `${file.sha256}.part` };
    const written = path.join(this.staging, part.path);
    try {
      const fd = openForWriting(written, 'w');
      const target = createWriteStream('', { fd, flush: true });
      await pipeline(checkedContent(found, file.size, what, this.options.clock), target);
      if (!this.isKnown(this.staging, part)) {
        throw new RefusedReleaseError(`${what} does not have the SHA-256 in the manifest.`);
      }
      renameSync(written, path.join(this.staging, file.sha256));
    } finally {
      rmSync(written, { force: true });
    }
  }
}
