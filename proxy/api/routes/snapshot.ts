/**
 * The routes of a whole generation: its manifest, and each of its files. A path is looked up in the
 * manifest; no part of it is ever used as a file name.
 */
import { MANIFEST } from '../../../lib/format/layout.ts';
import { DOWNLOADS } from '../../http/request.ts';
import type { StoredFile } from '../../snapshot/stored-file.ts';
import { readParameters } from '../parameters.ts';
import { decodePart } from './match-route.ts';
import type { Route, RouteName } from './route.ts';

/** A file of the generation with this id. */
export interface Download {
  readonly snapshot: string;
  readonly stored: StoredFile;
  /** Whether clients may request parts of the file. */
  readonly hasRanges: boolean;
}

const FILES = `${DOWNLOADS}/files/`;

/**
 * The download that a path names; undefined if there is none.
 * @param path the raw path after the base, without the query; begins with "/"
 */
export function matchDownload(path: string): Route<Download> | undefined {
  if (path === DOWNLOADS) return downloadRoute('snapshot', MANIFEST);
  if (!path.startsWith(FILES)) return undefined;
  // Generated clients write the slash in "games/snes.json" as %2F.
  const name = decodePart(path.slice(FILES.length));
  // The manifest has a path of its own, and does not contain itself.
  if (name === undefined || name === MANIFEST) return undefined;
  return downloadRoute('snapshot_file', name);
}

function downloadRoute(name: RouteName, path: string): Route<Download> {
  return {
    name,
    prepare(queryString) {
      readParameters(queryString, []);
      return (generation) => {
        const stored = generation.file(path);
        return stored && { snapshot: generation.id, stored, hasRanges: name === 'snapshot_file' };
      };
    },
  };
}
