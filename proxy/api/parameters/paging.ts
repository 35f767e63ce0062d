/** The parameters `page` and `per_page`. */
import { ParameterError, type Parameters } from './read-parameters.ts';

const LARGEST_PER_PAGE = 100;
const DEFAULT_PER_PAGE = 50;

export const PAGING_NAMES = ['page', 'per_page'] as const;

export interface Paging {
  /** From 1 on. */
  readonly page: number;
  /** From 1 to 100. */
  readonly perPage: number;
}

/** @throws ParameterError */
export function pagingOf(parameters: Parameters): Paging {
  return {
    page: integer(parameters, 'page', 1, Number.MAX_SAFE_INTEGER),
    perPage: integer(parameters, 'per_page', DEFAULT_PER_PAGE, LARGEST_PER_PAGE),
  };
}

function integer(parameters: Parameters, name: string, fallback: number, largest: number): number {
  const text = parameters.get(name);
  if (text === undefined) return fallback;
  const value = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : Number.NaN;
  if (value <= largest) return value;
  throw new ParameterError(`${name} must be an integer from 1 to ${largest}`);
}
