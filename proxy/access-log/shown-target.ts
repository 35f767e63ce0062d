/**
 * What the access log shows of a request target. Invariant: it never contains an API key, wherever in the
 * target a client puts one and however it encodes it, nor the value of a parameter that the API does not
 * have, which may be a secret of another system.
 */
import { MATCH_NAMES } from '../api/parameters.ts';
import { SEARCH_PARAMETERS } from '../api/routes/search.ts';
import { BASE, splitTarget } from '../http/request.ts';

/** The parameters whose values are shown. */
export const SHOWN_PARAMETERS: ReadonlySet<string> = new Set([
  ...[...SEARCH_PARAMETERS, ...MATCH_NAMES, 'slugs', 'since'],
]);
/** In characters, of the path and of the query. */
const LONGEST = 1_000;
/** A key, or so many letters and digits in a row that they may be most of one. */
const SECRET = /cck_[0-9A-Za-z]*|[0-9A-Za-z]{24,}/g;
const HIDDEN = '…';
const PERCENT_ENCODED = /%([0-9A-Fa-f]{2})/g;
/** How often a text may be percent-encoded. One that is encoded more often is hidden. */
const MOST_ENCODINGS = 5;
/** The name of a parameter that is not likely to be a secret itself. */
const PLAIN_NAME = /^[A-Za-z][A-Za-z_-]{0,19}$/;

/** @param target the raw path after the base, and the raw query */
export function showTarget(target: string): { readonly path: string; readonly query: string } {
  const [path, query] = splitTarget(target);
  return {
    path: cut(BASE + hideSecrets(path)),
    query: query === '' ? '' : cut(query.split('&').map(showParameter).join('&')),
  };
}

function showParameter(parameter: string): string {
  const equals = parameter.indexOf('=');
  const name = equals < 0 ? parameter : parameter.slice(0, equals);
  if (SHOWN_PARAMETERS.has(name)) return hideSecrets(parameter);
  return PLAIN_NAME.test(name) && equals >= 0 ? `${name}=${HIDDEN}` : HIDDEN;
}

/** Replaces everything that may be a key. If it is percent-encoded, the whole text is shown decoded. */
function hideSecrets(text: string): string {
  let decoded = text;
  for (let times = 0; decoded.includes('%'); times++) {
    const next = decoded.replace(PERCENT_ENCODED, (_, hex) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
    if (next === decoded) break;
    if (times === MOST_ENCODINGS) return HIDDEN;
    decoded = next;
  }
  const shown = decoded.replace(SECRET, HIDDEN);
  return shown === decoded ? text : shown;
}

function cut(text: string): string {
  return text.length > LONGEST ? text.slice(0, LONGEST) + HIDDEN : text;
}
