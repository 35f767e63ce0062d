/**
 * Reads the snapshots folder in the first thread of a proxy. When the generator publishes, it points
 * `current` to the new generation. Each refresh reads `current` and puts that generation into service,
 * in every serving thread. No request reads from the generation that it replaces, but for downloads of its
 * files: these are closed when nobody needs them any more.
 *
 * Invariant: a generation is served only after all of its files were checked. If the check of a new
 * generation fails, the old one stays in service.
 */
import { closeSync } from 'node:fs';
import type { Logger } from 'pino';
import { findOtherCollation, type Manifest } from '../../lib/format/manifest.ts';
import { currentId, generationDir } from '../../lib/generations/generations.ts';
import { makeHelper } from '../../lib/program/calls.ts';
import { type OpenedFiles, reportMemory } from './open-files.ts';
import type { OpeningThread } from './opening-thread.ts';
import { begunIn, endDownloads, isUnderWay } from './stored-files.ts';

/** A refused generation is checked again after this time, since the disk may have had a brief fault. */
const RETRY_MS = 30_000;

/** An interrupted archive of a replaced generation can be resumed so long after the last one has ended. */
const RESUMABLE_MS = 10 * 60_000;
/** How many replaced generations without a download under way are kept open, for downloads to resume. */
const MOST_RESUMABLE = 5;

/** A replaced generation whose files are still open. */
interface Replaced extends Pick<OpenedFiles, 'descriptors' | 'downloads'> {
  /** How many downloads had begun when it was last looked at. */
  begun: number;
  /** When a download was last seen under way, in milliseconds of the clock. */
  usedAt: number;
}

/** Makes every serving thread answer from a generation. When it resolves, none uses the one before. */
type ServeFiles = (files: OpenedFiles) => Promise<unknown>;

interface RefusedGeneration {
  readonly id: string;
  readonly error: Error;
  /** In milliseconds of the clock. */
  readonly at: number;
}

export class Snapshots {
  private readonly dir: string;
  private readonly serveFiles: ServeFiles;
  private readonly log: Logger;
  private readonly now: () => number;
  private readonly opening = makeHelper<OpeningThread>(
    new URL('./opening-thread.ts', import.meta.url),
    // The descriptors outlive the thread; they are closed with the generation.
    { trackUnmanagedFds: false },
  );
  private opened: OpenedFiles | undefined;
  /** The oldest first. */
  private replaced: Replaced[] = [];
  private refused: RefusedGeneration | undefined;
  private isStopped = false;
  private swapped = 0;

  /** @param dir the snapshots folder @param now a monotonic clock in milliseconds */
  constructor(dir: string, serveFiles: ServeFiles, log: Logger, now: () => number) {
    this.dir = dir;
    this.serveFiles = serveFiles;
    this.log = log;
    this.now = now;
  }

  /** The manifest of the generation that answers requests now; undefined before there is a first one. */
  current(): Manifest | undefined {
    return this.opened?.manifest;
  }

  /** How many generations came into service. */
  swaps(): number {
    return this.swapped;
  }

  /** The published generation and the error, if it was refused; otherwise undefined. */
  refusal(): RefusedGeneration | undefined {
    return this.refused;
  }

  /** Serves the generation that `current` names. It must not be called again before it has ended. */
  async refresh(): Promise<void> {
    this.closeUnused();
    const id = currentId(this.dir);
    if (id === undefined || id === this.opened?.manifest.id) {
      this.refused = undefined;
      return;
    }
    const started = this.now();
    if (this.refused?.id === id && started - this.refused.at < RETRY_MS) return;
    try {
      await this.serve(id);
    } catch (failure) {
      // A replica removes a generation as soon as it has a newer one, which is opened next.
      if (this.isStopped || currentId(this.dir) !== id) return;
      const isFirstFailure = this.refused?.id !== id;
      const error = failure as Error;
      this.refused = { id, error, at: this.now() };
      if (isFirstFailure) this.log.error({ snapshot: id, err: error }, 'refused a generation');
      return;
    }
    this.refused = undefined;
    this.swapped++;
    if (this.opened !== undefined) report(this.opened.manifest, this.now() - started, this.log);
  }

  /** Gives up an opening that is under way. */
  stop(): void {
    this.isStopped = true;
    this.opening.close();
  }

  /** Closes the files of the generation in service. Nothing may read from it any more. */
  close(): void {
    this.stop();
    if (this.opened !== undefined) this.replaced.push(replacedFiles(this.opened, this.now()));
    this.opened = undefined;
    // What a download still reads is closed with the process.
    this.replaced = this.replaced.filter((each) => !closeFiles(each));
  }

  /** How many replaced generations are kept open for downloads. */
  kept(): number {
    return this.replaced.length;
  }

  /** Closes the replaced generations of which no download is under way or may be resumed. */
  private closeUnused(): void {
    const now = this.now();
    for (const each of this.replaced) {
      const begun = begunIn(each.downloads);
      if (isUnderWay(each.downloads) || begun > each.begun) each.usedAt = now;
      each.begun = begun;
    }
    const idle = this.replaced.filter(({ downloads }) => !isUnderWay(downloads));
    const resumable = idle
      .filter(({ begun, usedAt }) => begun > 0 && now - usedAt < RESUMABLE_MS)
      .slice(-MOST_RESUMABLE);
    const closed = idle.filter((each) => !resumable.includes(each) && closeFiles(each));
    this.replaced = this.replaced.filter((each) => !closed.includes(each));
  }

  private async serve(id: string): Promise<void> {
    const before = this.opened && replacedFiles(this.opened, this.now());
    const files = await this.open(id);
    await this.serveFiles(files);
    // `close` closes the files that are in service, perhaps already.
    if (this.isStopped) throw new Error('The proxy has stopped.');
    this.opened = files;
    reportMemory(files);
    if (before !== undefined) this.replaced.push(before);
    this.closeUnused();
  }

  /**
   * A function of its own, so that `serve` does not refer to the replaced generation while it waits:
   * that would keep its memory in use.
   * @throws Error that names the file which is missing or damaged
   */
  private open(id: string): Promise<OpenedFiles> {
    return this.opening.call('open', {
      dir: generationDir(this.dir, id),
      id,
      current: this.opened,
    });
  }
}

/** What is kept of a replaced generation: without its indexes, which take most of its memory. */
function replacedFiles({ descriptors, downloads }: OpenedFiles, now: number): Replaced {
  return { descriptors, downloads, begun: 0, usedAt: now };
}

/** @returns whether no download needs the files, and they are closed now */
function closeFiles({ descriptors, downloads }: Replaced): boolean {
  const isUnused = endDownloads(downloads);
  if (isUnused) descriptors.forEach(closeSync);
  return isUnused;
}

/** Logs that a generation is served, and what is wrong with it nevertheless. */
function report(manifest: Manifest, milliseconds: number, log: Logger): void {
  const { id, counts } = manifest;
  log.info({ snapshot: id, ...counts, milliseconds }, 'serving a generation');
  const otherCollation = findOtherCollation(manifest);
  if (otherCollation !== undefined) log.warn({ snapshot: id }, otherCollation);
}
