/** The parameters `ids` and `slugs`, which name the records of a batch. */
import { ParameterError, type Parameters } from './read-parameters.ts';

const MOST_ENTRIES = 100;

/** How the entries of each parameter are written. */
const FORMS = {
  // A 64-bit integer has at most 20 digits.
  ids: { pattern: /^(?:0|[1-9]\d{0,19})$/, form: 'ids, such as ids=1,2,3' },
  slugs: {
    pattern: /^[^/]+\/[^/]+$/,
    form: 'slugs of a platform and a game, such as slugs=snes/chrono-trigger,nes/tetris',
  },
} as const;

export type BatchName = keyof typeof FORMS;

export interface Batch {
  readonly name: BatchName;
  /** Ids, or slugs such as "snes/chrono-trigger": in the order of the request, each once. */
  readonly entries: readonly string[];
}

/**
 * @param names the parameters of which the request must have exactly one
 * @param otherwise a hint for a request that has none
 * @throws ParameterError
 */
export function batchOf(
  parameters: Parameters,
  names: readonly BatchName[],
  otherwise: string,
): Batch {
  const [name, ...others] = names.filter((one) => parameters.has(one));
  if (name === undefined)
    throw new ParameterError(`${names.join(' or ')} is missing. ${otherwise}`);
  if (others.length > 0) throw new ParameterError(`Send either ${names.join(' or ')}, not both`);
  const { pattern, form } = FORMS[name];
  const entries =
    parameters
      .get(name)
      ?.split(',')
      .map((entry) => entry.trim()) ?? [];
  if (entries.length > MOST_ENTRIES || !entries.every((entry) => pattern.test(entry))) {
    throw new ParameterError(`${name} must be 1 to ${MOST_ENTRIES} ${form}`);
  }
  return { name, entries: [...new Set(entries)] };
}
