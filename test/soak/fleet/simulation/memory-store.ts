/** A remote store in memory: the origin pushes to it, and every simulated edge reads it in its own way. */
import { hash } from 'node:crypto';
import type {
  Content,
  GetOptions,
  RemoteReply,
  RemoteStore,
} from '../../../../depot/remote/remote.ts';

export interface MemoryStore extends RemoteStore {
  readonly objects: Map<string, Buffer>;
}

const PIECE = 4096;

export function makeMemoryStore(name: string): MemoryStore {
  const objects = new Map<string, Buffer>();
  const times = new Map<string, Date>();
  return {
    name,
    isWritable: true,
    objects,
    async get(path, options) {
      return replyWith(objects.get(path), options);
    },
    async put(path, content: Content) {
      const pieces: Buffer[] = [];
      for await (const piece of content.open()) pieces.push(piece);
      objects.set(path, Buffer.concat(pieces));
      times.set(path, new Date());
    },
    async list(prefix) {
      const paths = [...objects.keys()].filter((path) => path.startsWith(prefix)).sort();
      return paths.map((path) => ({
        path,
        size: objects.get(path)?.length ?? 0,
        modifiedAt: times.get(path) ?? new Date(0),
      }));
    },
    async remove(path) {
      objects.delete(path);
    },
    async removeUnfinished() {},
    traffic: () => ({ requests: 0, received: 0, sent: 0 }),
    close() {},
  };
}

/** The reply of a store that has these bytes under the path, or nothing. */
export function replyWith(
  bytes: Buffer | undefined,
  { offset = 0, etag }: GetOptions = {},
): RemoteReply {
  if (bytes === undefined) return { status: 'missing' };
  const own = hash('sha256', bytes).slice(0, 16);
  if (etag === own) return { status: 'unchanged' };
  const from = offset < bytes.length ? offset : 0;
  return {
    status: 'found',
    etag: own,
    size: bytes.length,
    offset: from,
    bytes: (async function* () {
      for (let at = from; at < bytes.length; at += PIECE) yield bytes.subarray(at, at + PIECE);
    })(),
    drop() {},
  };
}
