/** The parameters `include` and `prefer`, which add covers to games. */
import type { Include } from '../resources/games.ts';
import { ParameterError, type Parameters } from './read-parameters.ts';

export const INCLUDE_NAMES = ['include', 'prefer'] as const;
const MOST_REGIONS = 8;

/**
 * @returns undefined if the request does not include covers
 * @throws ParameterError
 */
export function includeOf(parameters: Parameters): Include | undefined {
  const member = parameters.get('include');
  const prefer = parameters.get('prefer');
  if (member !== undefined && member !== 'covers' && member !== 'cover') {
    throw new ParameterError('include must be covers or cover');
  }
  if (prefer !== undefined && member !== 'cover') {
    throw new ParameterError('prefer is only allowed with include=cover');
  }
  if (member !== 'cover') return member && { member };
  const regions = prefer?.split(',').map((region) => region.trim()) ?? [];
  if (regions.length > MOST_REGIONS || regions.includes('')) {
    throw new ParameterError(`prefer must be 1 to ${MOST_REGIONS} regions, separated by commas`);
  }
  return { member, prefer: regions };
}
