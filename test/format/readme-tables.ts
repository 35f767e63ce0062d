/** Reads `format/README.md`, so that tests can compare its tables with the code. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from '../support/product.ts';

export const readme = readFileSync(path.join(ROOT, 'format/README.md'), 'utf8');

/** The tables of the README below a heading, each as rows of cells without the header. */
export function tablesOf(heading: string): string[][][] {
  const start = readme.indexOf(`\n${heading}\n`);
  if (start < 0) throw new Error(`format/README.md has no heading "${heading}".`);
  const section = readme.slice(start + heading.length + 2).split(/^#/m, 1)[0];
  return [...section.matchAll(/(?:^\|.*\n)+/gm)].map(([table]) => {
    const rows = table.trimEnd().split('\n').slice(2);
    return rows.map((row) =>
      row
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    );
  });
}

/** The texts of a cell that are written as code. */
export const codesOf = (cell = '') =>
  [...cell.matchAll(/`([^`]+)`/g)].map(([, code]) => code as string);
/** The same of the first cells of rows. */
export const namesOf = (rows: string[][] = []) => rows.flatMap(([first]) => codesOf(first));
