/**
 * The parameters that add members to games: `include`, and `prefer` and `cover_type`, which choose the
 * cover. They are read before the generation is known, and resolved to its regions and types.
 */
import { foldCase } from '../../find/text/words.ts';
import type { Generation } from '../snapshot/generation.ts';
import { ParameterError, type QueryParameters, readList, shownParameter } from './parameters.ts';

export const INCLUDE_NAMES = ['include', 'prefer', 'cover_type'] as const;

/** The members that each game gets in addition to its own. */
interface IncludedMembers<Value> {
  /** Which cover it is; undefined without the member `cover`. */
  readonly cover: CoverChoice<Value> | undefined;
  readonly covers: boolean;
  readonly titles: boolean;
}

/** The types that the cover may have, and the preferred regions; the best first. */
interface CoverChoice<Value> {
  readonly types: readonly Value[];
  readonly prefer: readonly Value[];
}

/** With types and regions as the client wrote them; without a type, fronts. */
type Include = IncludedMembers<string>;
/** With the numbers of types and regions in a generation. */
export type ResolvedInclude = IncludedMembers<number>;

const MEMBERS = ['cover', 'covers', 'titles'];
const MOST_REGIONS = 16;
const MOST_TYPES = 8;
/** Types that a cover may have, even if this catalogue has none of them. */
const USUAL_TYPES = ['front', 'back', 'spine', 'disc', 'cart'];

/**
 * @returns undefined if the request includes nothing
 * @throws ParameterError
 */
export function includeOf(parameters: QueryParameters): Include | undefined {
  const members = parameters.get('include')?.split(',') ?? [];
  const wrong = members.find((member) => !MEMBERS.includes(member));
  if (wrong !== undefined) {
    throw new ParameterError(
      'include',
      `include has ${shownParameter(wrong)}. Allowed: ${MEMBERS.join(', ')}, or several of them, separated by commas`,
    );
  }
  const prefer = readList(parameters, 'prefer', MOST_REGIONS, 'regions');
  const types = readList(parameters, 'cover_type', MOST_TYPES, 'types of covers');
  const hasCover = members.includes('cover');
  for (const [name, list] of Object.entries({ prefer, cover_type: types })) {
    if (list !== undefined && !hasCover) {
      throw new ParameterError(name, `${name} is only allowed with include=cover`);
    }
  }
  if (members.length === 0) return undefined;
  return {
    cover: hasCover ? { types: types ?? [], prefer: prefer ?? [] } : undefined,
    covers: members.includes('covers'),
    titles: members.includes('titles'),
  };
}

/**
 * Preferred regions that this catalogue does not have are skipped: clients send the lists of their users.
 * @throws ParameterError if a type means nothing
 */
export function resolveInclude(generation: Generation, include: Include): ResolvedInclude {
  if (include.cover === undefined) return { ...include, cover: undefined };
  const { frontTypes, typeOf } = generation;
  const known = [...USUAL_TYPES, ...frontTypes.map(foldCase)];
  const asked = include.cover.types;
  const types = (asked.length === 0 ? frontTypes : asked).flatMap((type) => {
    const number = typeOf(type);
    if (number !== undefined || known.includes(foldCase(type))) return number ?? [];
    throw new ParameterError(
      'cover_type',
      `cover_type has ${shownParameter(type)}, which no cover has. Types are ${USUAL_TYPES.join(', ')} and others that /stats lists`,
    );
  });
  const prefer = include.cover.prefer.flatMap(generation.regionsOf);
  return { ...include, cover: { types, prefer } };
}
