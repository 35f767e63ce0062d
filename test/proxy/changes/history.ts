/** Generations of a catalogue in which everything changes, and what each of them holds. */
import path from 'node:path';
import { CHANGES, differenceFile } from '../../../format/layout.ts';
import { currentId } from '../../../generations/generations.ts';
import { join } from '../../../proxy/changes/join-worker.ts';
import { generate, makeFolder } from '../../support/product.ts';
import { makeChangingCatalogue } from './changing-catalogue.ts';
import { expectExact, parseElements, readState, type State } from './generation-state.ts';

export interface History {
  readonly dir: string;
  /** What the generations hold that were current, in their order. */
  readonly states: ReadonlyMap<string, State>;
}

export async function makeHistory(seed: number, generations = 6): Promise<History> {
  const dir = path.join(makeFolder(), 'snapshots');
  const catalogue = await makeChangingCatalogue(seed);
  const states = new Map<string, State>();
  while (states.size < generations) {
    await catalogue.change();
    await generate(catalogue.url, dir, ['--force']);
    const id = currentId(dir) as string;
    if (!states.has(id)) states.set(id, readState(dir, id));
  }
  await catalogue.close();
  return { dir, states };
}

/** The file with the difference between a generation and the one before it. */
export const differenceOf = ({ dir }: History, id: string) =>
  path.join(dir, CHANGES, differenceFile(id));

/** Makes the list of changes between two generations. If there is one, it must be exact. */
export function joinExactly({ dir, states }: History, from: string, to: string) {
  const reply = join(dir, { from, to, first: 0, end: 1e6 });
  if (reply.outcome === 'joined') {
    const text = Buffer.from(reply.part.text).toString().slice(0, -2);
    const list = parseElements(`{"data":[${text}]}`);
    expectExact(list, states.get(from) as State, states.get(to) as State, `${from} to ${to}`);
  }
  return reply;
}
