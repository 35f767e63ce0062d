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
import { MINISEARCH_OPTIONS_HASH } from '../../lib/format/index/minisearch-hash.ts';
import { findOtherCollation, type Manifest } from '../../lib/format/manifest.ts';
import { currentId, generationDir } from '../../lib/generations/generations.ts';
import { makeHelper } from '../../lib/program/calls.ts';
import { type OpenedFiles, type Replaced, reportMemory } from './open-files.ts';
import type { OpeningThread } from './opening-thread.ts';

/** A refused generation is checked again after this time, since the disk may have had a brief fault. */
const RETRY_MS = 30_000;

export interface Snapshots {
  /** The manifest of the generation that answers requests now; undefined before there is a first one. */
  current(): Manifest | undefined;
  /** How many generations came into service. */
  swaps(): number;
  /** Serves the generation that `current` names. If a refresh is under way, returns its promise. */
  refresh(): Promise<void>;
  /** The published generation and the error, if it was refused; otherwise undefined. */
  refusal(): { readonly id: string; readonly error: Error } | undefined;
  /** Gives up an opening that is under way. */
  stop(): void;
  /** Closes the files of the generation in service. Nothing may read from it any more. */
  close(): void;
}

/**
 * @param serveFiles makes every serving thread answer from a generation. When it resolves, none uses the
 * one before
 * @param now a monotonic clock in milliseconds
 */
export function openSnapshots(
  snapshotsDir: string,
  serveFiles: (files: OpenedFiles) => Promise<unknown>,
  log: Logger,
  now: () => number,
): Snapshots {
  const opening = makeHelper<OpeningThread>(new URL('./opening-thread.ts', import.meta.url), {
    // The descriptors outlive the thread; they are closed with the generation.
    trackUnmanagedFds: false,
  });
  let opened: OpenedFiles | undefined;
  let refused: { id: string; error: Error; at: number } | undefined;
  let refreshing: Promise<void> | undefined;
  let isStopped = false;
  let swaps = 0;

  async function serveCurrent(): Promise<void> {
    const id = currentId(snapshotsDir);
    if (id === undefined || id === opened?.manifest.id) {
      refused = undefined;
      return;
    }
    if (refused?.id === id && now() - refused.at < RETRY_MS) return;
    const started = now();
    try {
      await serve(id);
    } catch (failure) {
      // A replica removes a generation as soon as it has a newer one, which is opened next.
      if (isStopped || currentId(snapshotsDir) !== id) return;
      const isFirstFailure = refused?.id !== id;
      const error = failure as Error;
      refused = { id, error, at: now() };
      if (isFirstFailure) log.error({ snapshot: id, err: error }, 'refused a generation');
      return;
    }
    refused = undefined;
    swaps++;
    if (opened !== undefined) report(opened.manifest, now() - started, log);
  }

  async function serve(id: string): Promise<void> {
    const descriptors = [...(opened?.descriptors.values() ?? [])];
    const files = await open(id);
    await serveFiles(files);
    // `close` closes the descriptors that are in service, perhaps already.
    if (isStopped) throw new Error('The proxy has stopped.');
    opened = files;
    reportMemory(files);
    descriptors.forEach(closeSync);
  }

  /**
   * A function of its own, so that `serve` does not refer to the replaced generation while it waits:
   * that would keep its memory in use.
   * @throws Error that names the file which is missing or damaged
   */
  function open(id: string): Promise<OpenedFiles> {
    const dir = generationDir(snapshotsDir, id);
    return opening.call('open', { dir, id, current: opened && replacedPart(opened) });
  }

  function stop(): void {
    isStopped = true;
    opening.close();
  }

  return {
    current: () => opened?.manifest,
    swaps: () => swaps,
    refresh() {
      refreshing ??= serveCurrent().finally(() => {
        refreshing = undefined;
      });
      return refreshing;
    },
    refusal: () => refused,
    stop,
    close() {
      stop();
      opened?.descriptors.forEach(closeSync);
      opened = undefined;
    },
  };
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

function replacedPart({ manifest, contents, identities, prepared }: OpenedFiles): Replaced {
  return { manifest, contents, identities, prepared };
}
