/**
 * Reads the exact body that the API sends for a path, from a generation on disk. It uses the proxy's
 * own code to check the generation, to match the path and its parameters, and to find the record.
 */
import { closeSync } from 'node:fs';
import { generationDir } from '../lib/generations/generations.ts';
import { makeFindRoute } from './api/routes/find-route.ts';
import { takeAll } from './api/routes/route.ts';
import { splitTarget } from './http/request.ts';
import { makeGeneration } from './snapshot/generation.ts';
import { openFiles } from './snapshot/open-files.ts';

/**
 * @param id of a generation
 * @param target a path below the base path of the API, with its query, such as `/search?q=chrono`
 * @throws Error if there is no such resource, a parameter is wrong, or the generation is damaged
 */
export async function readStoredBody(
  snapshotsDir: string,
  id: string,
  target: string,
): Promise<Buffer> {
  const [pathname, queryString] = splitTarget(target);
  const find = makeFindRoute('')(pathname)?.prepare(queryString);
  const dir = generationDir(snapshotsDir, id);
  const files = openFiles({ dir, id });
  try {
    const found = find?.(makeGeneration(files));
    if (found === undefined) throw new Error(`There is no ${target} in ${id}.`);
    if (found === 'sinceGone') throw new Error(`The changes up to ${id} are not known.`);
    const resource = 'steps' in found ? takeAll(found.steps) : found;
    return resource.identity.body;
  } finally {
    files.descriptors.forEach(closeSync);
  }
}
