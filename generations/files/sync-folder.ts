import { closeSync, fsyncSync, openSync } from 'node:fs';

/** Syncs a folder. Only then does a rename or a new file in it survive a power cut. */
export function syncFolder(dir: string): void {
  const descriptor = openSync(dir, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
