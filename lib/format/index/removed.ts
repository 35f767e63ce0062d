/**
 * `removed.json`: the records that were removed from the generations of the last days, and these generations.
 * With `index/since.bin`, it says what differs between any of them and the generation that it belongs to. It is
 * JSON with one object per line.
 */

import { damaged } from '../../columns/checks.ts';
import { isGenerationId, REMOVED, sequenceOf } from '../layout.ts';
import { splitId } from './ids.ts';

export type Kind = 'platform' | 'game' | 'cover';
export const KINDS: readonly Kind[] = ['platform', 'game', 'cover'];

/** Which record. */
export interface RecordName {
  readonly kind: Kind;
  /** The slug of a platform; the id of a game or a cover, in decimal digits, which may exceed 2^53. */
  readonly id: string;
  /** The path of the record in the API. */
  readonly path: string;
}

export interface RemovedRecord extends RecordName {
  /** The sequences of the generation in which it had appeared, and of the first one without it. */
  readonly added: number;
  readonly removed: number;
}

export interface PastGeneration {
  readonly id: string;
  /** RFC 3339 UTC, in seconds. */
  readonly published_at: string;
}

export interface RemovedFile {
  /** The generations that were current before this one, the oldest first. */
  readonly generations: readonly PastGeneration[];
  /** By kind, id, and the sequence of the removal. */
  readonly removed: readonly RemovedRecord[];
}

/** The members of a record's name, as in the file and in the API. */
export function encodeName({ kind, id, path }: RecordName): string {
  const quoted = kind === 'platform' ? `"${id}"` : id;
  return `"kind":"${kind}","id":${quoted},"path":"${path}"`;
}

/** The content of the file. */
export function encodeRemovedFile({ generations, removed }: RemovedFile): string {
  const past = generations.map((generation) => JSON.stringify(generation));
  const gone = removed.map(
    (record) => `{${encodeName(record)},"added":${record.added},"removed":${record.removed}}`,
  );
  return `{"generations":[\n${linesOf(past)}],"removed":[\n${linesOf(gone)}]}\n`;
}

function linesOf(objects: readonly string[]): string {
  return objects.length === 0 ? '' : `${objects.join(',\n')}\n`;
}

const GENERATION =
  /^\{"id":"(?<id>\d{6,15}-[0-9a-f]{12})","published_at":"(?<published_at>[\dTZ:-]+)"\}/;
const RECORD =
  /^\{"kind":"(?<kind>platform|game|cover)","id":"?(?<id>[\w.~-]+)"?,"path":"(?<path>[\w.~/-]+)","added":(?<added>\d+),"removed":(?<removed>\d+)\}/;

/**
 * Parses and checks the content of the file.
 * @param sequence of its generation @throws Error that says what is damaged
 */
export function parseRemovedFile(text: string, sequence: number): RemovedFile {
  const generations: PastGeneration[] = [];
  const removed: RemovedRecord[] = [];
  // Not by JSON.parse: ids may exceed 2^53.
  for (const line of text.split('\n')) {
    const generation = GENERATION.exec(line)?.groups;
    if (generation !== undefined) {
      const { id, published_at } = generation;
      generations.push({ id, published_at });
    }
    const record = RECORD.exec(line)?.groups;
    if (record === undefined) continue;
    const { kind, id, path } = record;
    const [added, gone] = [Number(record.added), Number(record.removed)];
    removed.push({ kind: kind as Kind, id, path, added, removed: gone });
  }
  const file = { generations, removed };
  if (encodeRemovedFile(file) !== text) throw damaged(REMOVED, 'a line is not as it is written');
  const isRight = ({ id, published_at }: PastGeneration, at: number) =>
    isGenerationId(id) &&
    sequenceOf(id) < sequence &&
    !Number.isNaN(Date.parse(published_at)) &&
    (at === 0 || sequenceOf(generations[at - 1].id) < sequenceOf(id));
  if (!generations.every(isRight)) throw damaged(REMOVED, 'its generations are not earlier ones');
  for (const [at, record] of removed.entries()) {
    const isWhole = record.kind === 'platform' || splitId(record.id) !== undefined;
    const isOnce = record.added < record.removed && record.removed <= sequence;
    const isNext = at === 0 || compareRemoved(removed[at - 1], record) < 0;
    if (!isWhole || !isOnce || !isNext) throw damaged(REMOVED, `${record.path} is not in order`);
  }
  return file;
}

/** Negative, zero or positive: compares removed records in the order of the file. */
export function compareRemoved(a: RemovedRecord, b: RemovedRecord): number {
  return (
    KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind) ||
    // Ids have no leading zeros. Slugs are compared as texts.
    (a.kind === 'platform' ? 0 : a.id.length - b.id.length) ||
    (a.id < b.id ? -1 : a.id > b.id ? 1 : a.removed - b.removed)
  );
}
