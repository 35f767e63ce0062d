/**
 * Reads the query of a request. Unknown and repeated parameters are refused, so that a typing error does
 * not quietly return something else.
 */

import { KEY_PREFIX } from '../../../format/api-key.ts';

/** A parameter is unknown, or its value is not allowed. The message is the text of the 400 response. */
export class ParameterError extends Error {
  override readonly name = 'ParameterError';
}

/** The parameters of a request by name. An empty value counts as absent. */
export type Parameters = ReadonlyMap<string, string>;

/** In characters; the error for an unknown parameter repeats no more of its name. */
const LONGEST_NAME = 40;
const MALFORMED = /%(?![0-9A-Fa-f]{2})/;

/**
 * @param queryString the part of the target after "?"
 * @param allowed the names of the parameters that the endpoint has
 * @throws ParameterError
 */
export function readParameters(queryString: string, allowed: readonly string[]): Parameters {
  const values = new Map<string, string>();
  if (queryString === '') return values;
  const seen = new Set<string>();
  for (const parameter of queryString.split('&')) {
    if (parameter === '') continue;
    const equals = parameter.indexOf('=');
    const [rawName, rawValue] =
      equals < 0 ? [parameter, ''] : [parameter.slice(0, equals), parameter.slice(equals + 1)];
    const name = decode(rawName) ?? rawName;
    if (!allowed.includes(name)) throw unknownParameter(name, allowed);
    if (seen.has(name)) throw new ParameterError(`${name} must be given at most once`);
    seen.add(name);
    const value = decode(rawValue);
    if (value === undefined) throw malformedValue(name, rawValue);
    if (value !== '') values.set(name, value);
  }
  return values;
}

/** Decodes percent-encoded UTF-8, with "+" for a space. @returns undefined if it is malformed */
function decode(text: string): string | undefined {
  if (!text.includes('%') && !text.includes('+')) return text;
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}

function unknownParameter(name: string, allowed: readonly string[]): ParameterError {
  // A client may have put its key there by mistake. No response contains a key.
  const isKey = name.includes(KEY_PREFIX);
  const shown = isKey ? 'an API key' : cut(name);
  const choice = allowed.length === 0 ? 'none' : allowed.join(', ');
  return new ParameterError(`Unknown parameter: ${shown}. Allowed: ${choice}`);
}

function cut(name: string): string {
  return name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME)}…` : name;
}

function malformedValue(name: string, rawValue: string): ParameterError {
  return new ParameterError(
    MALFORMED.test(rawValue)
      ? `${name} must be percent-encoded: write % as %25`
      : `${name} must be percent-encoded UTF-8`,
  );
}
