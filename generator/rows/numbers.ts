/** The spaces that numbers are in, so that the compiler tells them apart. At run time, a number is a number. */
import type { In } from '../../lib/columns/numbers.ts';

/** What was read: the index of a row, in the order of ids; that of a file in the order in which files came. */
export type GameRow = In<'row of a game'>;
export type CoverRow = In<'row of a cover'>;
export type FileRow = In<'row of a file'>;
/** A game or cover of the catalogue (`catalogue.ts`), published or not. */
export type GameItem = In<'item of a game'>;
export type CoverItem = In<'item of a cover'>;
/** What is published, in the order of publication: the numbers of the format. */
export type PlatformNumber = In<'number of a platform'>;
export type CoverNumber = In<'number of a cover'>;
