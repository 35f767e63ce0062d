/** The bodies of lists: pages and batches. */
import { hashBytes } from '../../../format/content-hash.ts';
import { arrayTail, listHead, pageTail } from '../../../format/pack.ts';
import type { Body } from '../../snapshot/generation.ts';
import { type BodyWriter, startBody } from './body.ts';

/** Records, which write themselves into a list. */
export interface ListContent {
  /** How many records there are. */
  readonly count: number;
  /** Adds the records with separators between them. */
  addTo(body: BodyWriter): void;
  /** What the records depend on besides their content hashes. */
  readonly hashed?: readonly number[];
}

export interface Page {
  readonly page: number;
  readonly perPage: number;
  readonly total: number;
}

export function pageBody(content: ListContent, { page, perPage, total }: Page): Body {
  const tail = pageTail(content.count, page, perPage, total);
  return listBody(content, tail, [page, perPage, total]);
}

/**
 * The records of a batch, and the entries of the request without a record.
 * @param missing ids, which become numbers, or slugs
 */
export function batchBody(content: ListContent, missing: readonly string[]): Body {
  const entries = missing.map((entry) => (/^\d+$/.test(entry) ? entry : asciiJson(entry)));
  const tail = `${arrayTail(content.count)},"missing":[${entries.join(',')}]}`;
  return listBody(content, tail, hashBytes(tail));
}

function listBody(
  { count, addTo, hashed = [] }: ListContent,
  tail: string,
  hashedInTail: readonly number[],
): Body {
  const body = startBody();
  body.addText(listHead(count));
  addTo(body);
  body.addText(tail);
  return body.finish([...hashedInTail, ...hashed]);
}

/** A text as JSON with only ASCII characters. */
function asciiJson(text: string): string {
  return JSON.stringify(text).replaceAll(
    /[^ -~]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
