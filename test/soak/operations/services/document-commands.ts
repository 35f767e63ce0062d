/** The commands that operations/install.md tells operators to run. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from '#test/support/product.ts';

/** @returns the commands of the block that begins with the given text */
export function commandsFrom(start: string): string {
  const text = readFileSync(path.join(ROOT, 'operations/install.md'), 'utf8');
  const at = text.indexOf(`\n    ${start}`);
  if (at < 0) throw new Error(`operations/install.md has no command "${start}".`);
  return text.slice(at + 1, text.indexOf('\n\n', at)).replaceAll(/^ {4}/gm, '');
}
