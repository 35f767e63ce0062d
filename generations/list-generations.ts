/**
 * Lists the generations of a snapshots folder for `snapshot list`, with the current one and the held
 * one marked.
 */
import type { Hold } from '../format/hold-file.ts';
import type { Counts } from '../format/manifest.ts';
import { listGenerations } from './generations.ts';
import { readHold } from './hold.ts';

export interface ListedGeneration {
  readonly id: string;
  readonly current: boolean;
  readonly published_at: string;
  /** Null if the manifest cannot be read; `fault` then says why. */
  readonly counts: Counts | null;
  readonly fault: string | null;
  /** Null unless publishing is held at this generation. */
  readonly held: Omit<Hold, 'id'> | { readonly error: string } | null;
}

/**
 * Every generation on disk, the oldest first. If the hold cannot be read, the error is in `held` of
 * the current generation.
 */
export function readList(snapshotsDir: string): ListedGeneration[] {
  let hold: Hold | undefined;
  let error: string | undefined;
  try {
    hold = readHold(snapshotsDir);
  } catch (cause) {
    error = (cause as Error).message;
  }
  const heldOf = (id: string, isCurrent: boolean) => {
    if (error !== undefined) return isCurrent ? { error } : null;
    if (hold?.id !== id) return null;
    const { since, reason, by } = hold;
    return { since, reason, by };
  };
  return listGenerations(snapshotsDir).map(({ id, isCurrent, publishedAt, manifest, fault }) => ({
    id,
    current: isCurrent,
    published_at: publishedAt.toISOString(),
    counts: manifest?.counts ?? null,
    fault: fault ?? null,
    held: heldOf(id, isCurrent),
  }));
}

/** The list as text, one line for each generation. */
export function asLines(generations: readonly ListedGeneration[]): string[] {
  return generations.map(({ id, current, published_at, counts, fault, held }) => {
    const what = counts === null ? fault : `${counts.games} games, ${counts.covers} covers`;
    const line = `${current ? '*' : ' '} ${id}  ${published_at.slice(0, 19)}Z  ${what}`;
    return held === null ? line : `${line}  held`;
  });
}
