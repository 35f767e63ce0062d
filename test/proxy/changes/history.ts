/** Generations of a catalogue in which everything changes, and what each of them holds. */
import path from 'node:path';
import { CHANGES, differenceFile } from '../../../format/layout.ts';
import { listDifferences } from '../../../generations/differences.ts';
import { currentId, idsOnDisk } from '../../../generations/generations.ts';
import { rollbackTo } from '../../../generations/rollback.ts';
import { makeLists } from '../../../proxy/changes/join-thread.ts';
import { generate, makeFolder } from '../../support/product.ts';
import { makeChangingCatalogue } from './changing-catalogue.ts';
import { expectExact, parseElements, readState, type State } from './generation-state.ts';

export interface History {
  readonly dir: string;
  /** What the generations hold that were current, in their order. The fifth of each six is a rollback. */
  readonly states: ReadonlyMap<string, State>;
}

export async function makeHistory(seed: number, generations = 6): Promise<History> {
  const dir = path.join(makeFolder(), 'snapshots');
  const catalogue = await makeChangingCatalogue(seed);
  const states = new Map<string, State>();
  while (states.size < generations) {
    await catalogue.change();
    if (states.size % 6 === 4) {
      const [oldest] = idsOnDisk(dir) as [string];
      await rollbackTo(dir, oldest, { withTakenDown: true, warn() {} });
    } else await generate(catalogue.url, dir, ['--force']);
    const id = currentId(dir) as string;
    if (!states.has(id)) states.set(id, readState(dir, id));
  }
  await catalogue.close();
  return { dir, states };
}

/** The file with the difference between a generation and the one before it. */
export function differenceOf({ dir }: History, id: string): string {
  const difference = listDifferences(dir).findLast(({ to }) => to === id);
  if (difference === undefined) throw new Error(`There is no difference to ${id}.`);
  return path.join(dir, CHANGES, differenceFile(difference));
}

/** Makes the list of changes between two generations. If there is one, it must be exact. */
export function joinExactly({ dir, states }: History, from: string, to: string) {
  const { page, damage } = makeLists(dir)({ from, to, first: 0, count: 1e6 });
  if (typeof page !== 'string') {
    const list = parseElements(`{"data":[${page.text}]}`);
    expectExact(list, states.get(from) as State, states.get(to) as State, `${from} to ${to}`);
  }
  return { page, damage };
}
