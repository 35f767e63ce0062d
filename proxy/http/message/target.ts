/** The target of a request: its path and query, and the base that every path of the API begins with. */

export const BASE = '/api/v1';

/** A target's path, and its query without "?": '' where there is none. */
export function splitTarget(target: string): readonly [path: string, queryString: string] {
  const question = target.indexOf('?');
  return question < 0 ? [target, ''] : [target.slice(0, question), target.slice(question + 1)];
}
