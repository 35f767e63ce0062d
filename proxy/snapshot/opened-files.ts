/**
 * The files of generations that are open, each opened and checked once however many serving threads
 * use it: they share its memory and its descriptors, which are closed when the last lets go.
 */
import { closeSync } from 'node:fs';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { GENERATIONS } from '../../format/layout.ts';
import type { OpenedFiles, OpenOrder } from './open-worker.ts';

/** Where a thread gets the files of a generation from. */
export interface FileSource {
  /**
   * Opens and checks a generation on a thread of its own, unless it is open.
   * @throws Error saying what is missing or damaged, with the file's name
   */
  open(id: string): Promise<OpenedFiles>;
  /** Lets go of a generation; once for each that was opened. */
  release(id: string): void;
}

/**
 * @param mostMemory for each generation, in bytes, of which there are two at a swap; packs that do
 * not fit are read by ranges
 */
export function makeFileSource(snapshotsDir: string, mostMemory: number): FileSource {
  const opened = new Map<string, { readonly files: Promise<OpenedFiles>; users: number }>();
  return {
    async open(id) {
      let entry = opened.get(id);
      if (entry === undefined) {
        entry = {
          files: openFiles({ dir: path.join(snapshotsDir, GENERATIONS, id), mostMemory }, id),
          users: 0,
        };
        opened.set(id, entry);
      }
      entry.users++;
      try {
        return await entry.files;
      } catch (error) {
        // It is tried anew the next time.
        if (opened.get(id) === entry) opened.delete(id);
        throw error;
      }
    },
    release(id) {
      const entry = opened.get(id);
      if (entry === undefined || --entry.users > 0) return;
      opened.delete(id);
      entry.files.then(closeAll, () => {});
    },
  };
}

async function openFiles(order: OpenOrder, id: string): Promise<OpenedFiles> {
  const files = await new Promise<OpenedFiles>((resolve, reject) => {
    const worker = new Worker(new URL('./open-worker.ts', import.meta.url), {
      workerData: order,
      // The descriptors outlive the worker; they are closed with the generation.
      trackUnmanagedFds: false,
    });
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', (code) => reject(new Error(`The opening thread ended with ${code}.`)));
  });
  if (files.manifest.id === id) return files;
  closeAll(files);
  throw new Error(`The folder ${id} holds the generation ${files.manifest.id}.`);
}

function closeAll({ descriptors }: OpenedFiles): void {
  for (const descriptor of descriptors.values()) closeSync(descriptor);
}
