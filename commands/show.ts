/**
 * Reads the exact body that the API sends for a path, from a generation on disk. It uses the proxy's
 * own code to check the generation, to match the path and its parameters, and to find the record.
 */
import { makeMatchRoute } from '../proxy/api/routes/match-route.ts';
import { splitTarget } from '../proxy/http/message/target.ts';
import { makeGeneration } from '../proxy/snapshot/generation.ts';
import { openFiles, planOpening } from '../proxy/snapshot/open-files.ts';

/**
 * @param dir the generation's folder
 * @param id the generation's id
 * @param target a path below the base path of the API, with its query, such as `/search?q=chrono`
 * @throws Error if there is no such resource, a parameter is wrong, or the generation is damaged
 */
export function showBody(dir: string, id: string, target: string): Buffer {
  const [pathname, queryString] = splitTarget(target);
  const find = makeMatchRoute('')(pathname)?.prepare(queryString);
  const order = { dir, id, mostMemory: undefined, known: undefined };
  const generation = makeGeneration(openFiles(planOpening(order)));
  try {
    const resource = find?.(generation);
    if (resource === undefined) throw new Error(`There is no ${target} in ${id}.`);
    return resource.identity.body;
  } finally {
    generation.close();
  }
}
