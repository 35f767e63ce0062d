/**
 * What the tests of holds share: snapshots folders with some generations and a database with an
 * unpublished change, and the state of a hold.
 */

import { copyFileSync, cpSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { runSnapshot } from '../../commands/run-snapshot.ts';
import { parseHold } from '../../format/hold-file.ts';
import { HOLD_FILE } from '../../format/layout.ts';
import { currentId, generationDir, idsOnDisk } from '../../store/generations/generations.ts';
import { KEPT_GENERATIONS } from '../../store/prune.ts';
import { generate, makeFolder, runCommand } from '../support/product.ts';
import { makeChanging } from '../support/wholeness.ts';

/** The exit code of a run that publishes nothing. */
export const REFUSED = 3;
export const SINCE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

/** Runs `cover-catalogue snapshot`. */
export const snapshot = (dir: string, ...args: string[]) =>
  runCommand(runSnapshot, args, { SNAPSHOTS_DIR: dir });
export const holdFile = (dir: string) => path.join(dir, HOLD_FILE);
export const readHold = (dir: string) => parseHold(readFileSync(holdFile(dir), 'utf8'));
export const currentOf = (dir: string) => currentId(dir) as string;

export interface Published {
  readonly dir: string;
  /** The generations in it, the oldest first; the last one is current. */
  readonly ids: readonly string[];
  /** The database. */
  readonly url: string;
}

/** Makes the function that publishes generations. Each call copies: generating would take minutes. */
export async function makePublisher(): Promise<(generations?: number) => Published> {
  const template = makeFolder();
  const database = await makeChanging();
  const all: string[] = [];
  for (let run = 0; run < KEPT_GENERATIONS; run++) {
    await database.change();
    await generate(database.url, path.join(template, 'snapshots'));
    all.push(currentOf(path.join(template, 'snapshots')));
  }
  await database.change();
  copyFileSync(database.url.replace('sqlite:', ''), path.join(template, 'catalogue.db'));
  return (generations = 1) => {
    const folder = makeFolder();
    cpSync(template, folder, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
    const dir = path.join(folder, 'snapshots');
    const ids = all.slice(-generations);
    for (const id of idsOnDisk(dir)) {
      if (!ids.includes(id)) rmSync(generationDir(dir, id), { recursive: true });
    }
    return { dir, ids, url: `sqlite:${path.join(folder, 'catalogue.db')}` };
  };
}
