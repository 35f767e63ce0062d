import { closeSync, fsyncSync, openSync } from 'node:fs';

/** A rename or a new file outlasts a power cut only once its folder is synced. */
export function syncFolder(dir: string): void {
  const descriptor = openSync(dir, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
