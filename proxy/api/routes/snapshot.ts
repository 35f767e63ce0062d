/**
 * The routes of a whole generation: its manifest, each of its files, and all of them as one archive. A path is
 * looked up in the manifest; no part of it is ever used as a file name.
 */
import { MANIFEST } from '../../../lib/format/layout.ts';
import { readArchive } from '../../../lib/format/tar.ts';
import { DOWNLOADS } from '../../http/request.ts';
import { SMALLEST_COMPRESSED } from '../../http/resource.ts';
import { JSON_TYPE } from '../../http/response.ts';
import type { Generation } from '../../snapshot/generation.ts';
import type { StoredFiles } from '../../snapshot/stored-files.ts';
import { decodePart } from './find-route.ts';
import { makeRoute, type Route, type RouteName } from './route.ts';

/** What is sent of a generation from its files on disk. */
export interface Download {
  readonly stored: StoredFiles;
  readonly type: string;
  /** In bytes. */
  readonly size: number;
  /** Without quotes. */
  readonly etag: string;
  /** When its bytes changed last, RFC 3339; undefined if that is not known. */
  readonly changedAt?: string | undefined;
  /** Whether clients may request parts of it. */
  readonly hasRanges: boolean;
  readonly isCompressible: boolean;
  /** The bytes from `from` (inclusive) to `to` (exclusive). */
  readonly read: (from: number, to: number) => AsyncIterable<Buffer>;
}

const FILES = `${DOWNLOADS}/files/`;
const ARCHIVE = `${DOWNLOADS}/archive`;
const BINARY_TYPE = 'application/octet-stream';

/**
 * The download that a path names; undefined if there is none.
 * @param path the raw path after the base, without the query; begins with "/"
 */
export function matchDownload(path: string): Route<Download> | undefined {
  if (path === DOWNLOADS) return downloadRoute('snapshot', fileOf(MANIFEST, false));
  if (path === ARCHIVE) {
    return downloadRoute('snapshot_archive', ({ stored }) => archiveDownload(stored));
  }
  if (!path.startsWith(FILES)) return undefined;
  // Generated clients write the slash in "games/snes.json" as %2F.
  const name = decodePart(path.slice(FILES.length));
  // The manifest has a path of its own, and does not contain itself.
  if (name === undefined || name === MANIFEST) return undefined;
  return downloadRoute('snapshot_file', fileOf(name, true));
}

type Find = (generation: Generation) => Download | undefined;

function downloadRoute(name: RouteName, find: Find): Route<Download> {
  return makeRoute(name, [], () => find);
}

function fileOf(path: string, hasRanges: boolean): Find {
  return ({ stored }) => {
    const file = stored.file(path);
    if (file === undefined) return undefined;
    return {
      stored,
      type: path.endsWith('.json') ? JSON_TYPE : BINARY_TYPE,
      size: file.size,
      etag: file.sha256,
      changedAt: stored.changedAt(path),
      hasRanges,
      isCompressible: file.size >= SMALLEST_COMPRESSED,
      read: (from, to) => stored.read(file, from, to),
    };
  };
}

/** All files of a generation as one archive, also if it has been replaced. */
export function archiveDownload(stored: StoredFiles): Download {
  const archive = stored.archive();
  return {
    stored,
    type: 'application/x-tar',
    size: archive.size,
    // The manifest has the hash and the time of each file.
    etag: `${stored.manifestFile.sha256}-tar`,
    hasRanges: true,
    isCompressible: false,
    read: (from, to) =>
      readArchive(archive, from, to, (file, ...range) => stored.read(file, ...range)),
  };
}
