/**
 * What the API answers from a generation, without a key and without being counted: for pages that are made
 * once for each generation, and never for a visitor.
 */
import { makeMatchRoute } from '../../proxy/api/routes/match-route.ts';
import { splitTarget } from '../../proxy/http/request.ts';
import type { Generation } from '../../proxy/snapshot/generation.ts';

const matchRoute = makeMatchRoute('', () => Promise.reject(new Error('No page shows changes.')));

/**
 * @param target the path after the base, with its query
 * @returns undefined if the generation does not have what the target names
 * @throws ParameterError
 */
export function readApi(generation: Generation, target: string) {
  const [path, query] = splitTarget(target);
  const found = matchRoute(path)?.prepare(query)(generation);
  if (found === undefined || found instanceof Promise) return undefined;
  return { headers: found.headers, text: found.identity.body.toString() };
}

/** An id of so many digits that a double may not hold it. In a text, the quotes would be escaped. */
const LONG_ID = /"id":(\d{16,})/g;

/** Parses a body of the API. Pages only show ids: one with so many digits becomes a text. */
export function parseRecords<T>(text: string): T {
  return JSON.parse(text.replace(LONG_ID, '"id":"$1"'));
}
