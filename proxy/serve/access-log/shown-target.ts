/**
 * What the access log shows of a request target. Invariant: it never contains an API key, wherever in the
 * target a client puts one and however it encodes it, nor a parameter that the API does not have, which may be
 * a secret of another system.
 */
import { MATCH_NAMES } from '../../api/parameters.ts';
import { SEARCH_PARAMETERS } from '../../api/routes/search.ts';
import { BASE, splitTarget } from '../../http/request.ts';

/** The parameters that are shown. */
export const SHOWN_PARAMETERS: ReadonlySet<string> = new Set<string>([
  ...SEARCH_PARAMETERS,
  ...MATCH_NAMES,
  'slugs',
  'since',
]);
/** In characters, of the path and of the query. */
const LONGEST = 1_000;
/** A key, or enough letters and digits in a row to be most of one. */
const SECRET = /cck_[0-9A-Za-z]*|[0-9A-Za-z]{24,}/g;
const PERCENT_ENCODED = /%([0-9A-Fa-f]{2})/g;
const HIDDEN = '…';

/** A method that only this client knows may be anything. */
export function showMethod(method: string): string {
  return cut(hideSecrets(method));
}

/** @param target the raw path after the base, and the raw query */
export function showTarget(target: string): { readonly path: string; readonly query: string } {
  const [path, query] = splitTarget(target);
  return {
    path: cut(BASE + hideSecrets(path)),
    query: query === '' ? '' : cut(query.split('&').map(showParameter).join('&')),
  };
}

function showParameter(parameter: string): string {
  const [name] = parameter.split('=', 1);
  return SHOWN_PARAMETERS.has(name) ? hideSecrets(parameter) : HIDDEN;
}

/** Replaces everything that may be a key. The text is then shown decoded. */
function hideSecrets(text: string): string {
  const decoded = text.replace(PERCENT_ENCODED, (_, hex) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  // Encoded twice: nobody needs that.
  if (decoded.search(PERCENT_ENCODED) >= 0) return HIDDEN;
  const shown = decoded.replace(SECRET, HIDDEN);
  return shown === decoded ? text : shown;
}

function cut(text: string): string {
  return text.length > LONGEST ? text.slice(0, LONGEST) + HIDDEN : text;
}
