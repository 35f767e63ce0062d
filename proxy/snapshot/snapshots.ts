/**
 * Reads the snapshots folder in the first thread of a proxy. When the generator publishes, it points
 * `current` to the new generation. Each refresh reads `current` and puts that generation into service,
 * in every serving thread. The generation that it replaces is closed; no request can read from it again.
 *
 * Invariant: a generation is served only after all of its files were checked. If the check of a new
 * generation fails, the old one stays in service.
 */
import { closeSync } from 'node:fs';
import type { Logger } from 'pino';
import { MINISEARCH_OPTIONS_HASH } from '../../find/search/minisearch-hash.ts';
import { findOtherCollation, type Manifest } from '../../lib/format/manifest.ts';
import { currentId, generationDir } from '../../lib/generations/generations.ts';
import { makeHelper } from '../../lib/program/calls.ts';
import { type OpenedFiles, reportMemory } from './open-files.ts';
import type { OpeningThread } from './opening-thread.ts';

/** A refused generation is checked again after this time, since the disk may have had a brief fault. */
const RETRY_MS = 30_000;

/** Makes every serving thread answer from a generation. When it resolves, none uses the one before. */
type ServeFiles = (files: OpenedFiles) => Promise<unknown>;

interface Refusal {
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
  private refused: Refusal | undefined;
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
  refusal(): Refusal | undefined {
    return this.refused;
  }

  /** Serves the generation that `current` names. It must not be called again before it has ended. */
  async refresh(): Promise<void> {
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
    this.opened?.descriptors.forEach(closeSync);
    this.opened = undefined;
  }

  private async serve(id: string): Promise<void> {
    const descriptors = [...(this.opened?.descriptors.values() ?? [])];
    const files = await this.open(id);
    await this.serveFiles(files);
    // `close` closes the descriptors that are in service, perhaps already.
    if (this.isStopped) throw new Error('The proxy has stopped.');
    this.opened = files;
    reportMemory(files);
    descriptors.forEach(closeSync);
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

/** Logs that a generation is served, and what is wrong with it nevertheless. */
function report(manifest: Manifest, milliseconds: number, log: Logger): void {
  const { id, counts } = manifest;
  log.info({ snapshot: id, ...counts, milliseconds }, 'serving a generation');
  if (manifest.minisearch_options !== MINISEARCH_OPTIONS_HASH) {
    log.warn(
      { snapshot: id, node: process.version, unicode: process.versions.unicode },
      'the generator splits titles into words by other rules (another version of Node?): searches may miss titles',
    );
  }
  const otherCollation = findOtherCollation(manifest);
  if (otherCollation !== undefined) log.warn({ snapshot: id }, otherCollation);
}
