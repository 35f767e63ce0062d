/** What the files of a generation are written from. Its columns are in memory that threads share. */
import type { RecordColumns } from '../../format/index/record-index.ts';
import { sharedZeros } from '../../format/index/shared-zeros.ts';
import type { EarlierGeneration } from '../changes/earlier-generation.ts';
import type { Numbering } from '../order/numbering.ts';
import type { Files } from '../read/catalogue.ts';
import type { RecordSource } from './records.ts';

export interface WriteSource extends RecordSource {
  /** The folder of the generation. */
  readonly dir: string;
  readonly numbering: Numbering;
  readonly titles: Titles;
  /** Where the records are in their packs, once these are written. */
  readonly positions: { readonly games: RecordColumns; readonly covers: RecordColumns };
  /** Undefined if all rows were read; therefore, always undefined in a worker. */
  readonly earlier: EarlierGeneration | undefined;
}

/** The source of the packs of covers, which are written last. */
export interface CoverSource extends WriteSource {
  readonly files: Files;
}

/** Alternative titles. */
export interface Titles {
  /** By the id of the game, in decimal digits. */
  readonly of: ReadonlyMap<string, readonly string[]>;
  /** Whether they are those of the earlier generation. */
  readonly areSame: boolean;
}

/** Makes the columns that the threads which write the packs fill. */
export function makePositions({ itemOfGame, itemOfCover }: Numbering): WriteSource['positions'] {
  const columns = (count: number): RecordColumns => ({
    byteOffset: sharedZeros(Float64Array, count),
    byteLength: sharedZeros(Uint32Array, count),
    hash: sharedZeros(Uint32Array, count * 2),
  });
  return { games: columns(itemOfGame.length), covers: columns(itemOfCover.length) };
}
