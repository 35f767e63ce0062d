/**
 * The exact body that the API answers for a path, from a generation on disk. The proxy's own routes,
 * parameters and reader find it, after the same checks of the generation.
 */
import { matchRoute } from '../proxy/api/routes.ts';
import { splitTarget } from '../proxy/http/message/target.ts';
import { makeGeneration } from '../proxy/snapshot/generation.ts';
import { openFiles, planOpening } from '../proxy/snapshot/open-files.ts';

/**
 * @param dir the generation's folder, @param id of the generation
 * @param target below the base, with its query, such as `/search?q=chrono`
 * @throws Error when there is no such resource, a parameter is wrong, or the generation is damaged
 */
export function showBody(dir: string, id: string, target: string): Buffer {
  const [pathname, queryString] = splitTarget(target);
  const find = matchRoute(pathname)?.prepare(queryString);
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
