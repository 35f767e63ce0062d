/** The `.bin` files of a generation: columns with the version of its format. */
import { type ColumnFile, encodeColumns, openColumns } from '../../columns/container.ts';
import { FILTER_INDEX, FORMAT_VERSION, MATCH_INDEX, WORD_INDEX } from '../layout.ts';

/** The pieces of a file. @param content as for {@link encodeColumns} */
export function encodeIndex(content: object): Iterable<Uint8Array> {
  return encodeColumns(content, FORMAT_VERSION);
}

/**
 * @param contentOf returns the content of a file of the generation by its name
 * @throws Error that names the file and its fault
 */
export function openIndexFile(contentOf: (name: string) => Uint8Array, name: string): ColumnFile {
  return openColumns(contentOf(name), name, FORMAT_VERSION);
}

/** The files by which games are found, for `find/`. */
export interface FindFiles {
  readonly words: ColumnFile;
  readonly filters: ColumnFile;
  readonly match: ColumnFile;
}

const FIND_FILES = { words: WORD_INDEX, filters: FILTER_INDEX, match: MATCH_INDEX };

/** Opens the files by which games are found. */
export function openFindFiles(contentOf: (name: string) => Uint8Array): FindFiles;
/** Opens some of them. @param isWanted whether to open a file */
export function openFindFiles(
  contentOf: (name: string) => Uint8Array,
  isWanted: (name: string) => boolean,
): Partial<FindFiles>;
export function openFindFiles(
  contentOf: (name: string) => Uint8Array,
  isWanted = (_: string) => true,
): Partial<FindFiles> {
  const wanted = Object.entries(FIND_FILES).filter(([, name]) => isWanted(name));
  return Object.fromEntries(wanted.map(([key, name]) => [key, openIndexFile(contentOf, name)]));
}
