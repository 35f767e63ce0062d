/** The base that every path of the API begins with, and the parts of a request target. */

export const BASE = '/api/v1';

/** The path of a target, and its query without "?"; '' if it has no query. */
export function splitTarget(target: string): readonly [path: string, queryString: string] {
  const question = target.indexOf('?');
  return question < 0 ? [target, ''] : [target.slice(0, question), target.slice(question + 1)];
}

/** How every path of a download begins, after the base. */
export const DOWNLOADS = '/snapshot';
