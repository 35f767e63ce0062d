/** The bodies of lists: pages and batches. */
import { hashBytes } from '../../../format/content-hash.ts';
import { arrayTail, listHead, pageTail } from '../../../format/pack.ts';
import type { Body } from '../../snapshot/generation.ts';
import { joinParts, type Part } from './body.ts';

export interface Page {
  readonly page: number;
  readonly perPage: number;
  readonly total: number;
}

/**
 * @param count how many records the parts have
 * @param hashed further numbers for the content hash
 */
export function pageBody(
  parts: readonly Part[],
  count: number,
  { page, perPage, total }: Page,
  hashed: readonly number[] = [],
): Body {
  const tail = pageTail(count, page, perPage, total);
  return joinParts([listHead(count), ...parts, tail], [page, perPage, total, ...hashed]);
}

/**
 * The records of a batch, and the entries of the request without a record.
 * @param missing ids, which become numbers, or slugs
 */
export function batchBody(
  parts: readonly Part[],
  count: number,
  missing: readonly string[],
  hashed: readonly number[] = [],
): Body {
  const list = missing.map((entry) => (/^\d+$/.test(entry) ? entry : asciiJson(entry)));
  const tail = `${arrayTail(count)},"missing":[${list.join(',')}]}`;
  return joinParts([listHead(count), ...parts, tail], [...hashBytes(tail), ...hashed]);
}

/** A text as JSON with only ASCII characters. */
function asciiJson(text: string): string {
  return JSON.stringify(text).replaceAll(
    /[^ -~]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
