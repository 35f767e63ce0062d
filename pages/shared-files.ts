/**
 * The files that every page loads: the design, the icon and the script of the copy buttons. Each program
 * serves them under a path of its own, so that pages always match their design, even if the proxy and
 * the account pages are of different versions.
 */
import { readFileSync } from 'node:fs';

export interface SharedFile {
  readonly name: 'design.css' | 'parts.css' | 'no-script.css' | 'copy.js' | 'icon.svg';
  /** The value of Content-Type. */
  readonly type: string;
}

export const SHARED_FILES: readonly SharedFile[] = [
  { name: 'design.css', type: 'text/css; charset=utf-8' },
  { name: 'parts.css', type: 'text/css; charset=utf-8' },
  { name: 'no-script.css', type: 'text/css; charset=utf-8' },
  { name: 'copy.js', type: 'text/javascript; charset=utf-8' },
  { name: 'icon.svg', type: 'image/svg+xml' },
];

/** @throws Error if a file of the program is missing */
export function readSharedFile({ name }: SharedFile): Buffer {
  return readFileSync(new URL(`./files/${name}`, import.meta.url));
}
