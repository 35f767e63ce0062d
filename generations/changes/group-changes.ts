/** Compares two generations for an operator: which games and covers were added, changed and removed. */
import { openIndexOf } from '../open-index.ts';
import { compareGenerations } from './compare-generations.ts';

/** API paths, such as "/games/snes/chrono-trigger", in the order of the ids. */
export interface GroupedChanges {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

/**
 * @param from the folder of the earlier generation
 * @param to the folder of the later generation
 */
export function groupChanges(
  from: string,
  to: string,
): { readonly games: GroupedChanges; readonly covers: GroupedChanges } {
  const changes = [...compareGenerations(openIndexOf(from), openIndexOf(to))];
  const group = (kind: 'game' | 'cover'): GroupedChanges => {
    const ofKind = changes.filter((change) => change.kind === kind);
    const pathsOf = (hasBefore: boolean, hasAfter: boolean) =>
      ofKind
        .filter(
          ({ before, after }) => (before !== null) === hasBefore && (after !== null) === hasAfter,
        )
        .map(({ path }) => path);
    return {
      added: pathsOf(false, true),
      changed: pathsOf(true, true),
      removed: pathsOf(true, false),
    };
  };
  return { games: group('game'), covers: group('cover') };
}
