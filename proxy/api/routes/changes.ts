/**
 * The route of changes since an earlier snapshot. The list may have to be joined from differences first,
 * so its resource comes later.
 */
import { hashBytes } from '../../../lib/format/content-hash.ts';
import { isGenerationId } from '../../../lib/format/layout.ts';
import { listHead, pageTail, RECORD_SEPARATOR } from '../../../lib/format/pack.ts';
import type { ReadChanges } from '../changes/changes.ts';
import { CLIENT, type Client } from '../changes/turns.ts';
import { PAGING_NAMES, ParameterError, pagingOf, type QueryParameters } from '../parameters.ts';
import {
  makeJsonResource,
  makeRoute,
  type PageLinks,
  type Requester,
  type Route,
} from './route.ts';

/** How often to look whether a client that waits has left. */
const LOOK_MS = 50;

export function changesRoute(readChanges: ReadChanges, pageLinks: PageLinks): Route {
  return makeRoute('changes', ['since', ...PAGING_NAMES], (parameters) => {
    const from = sinceOf(parameters);
    const { page, perPage } = pagingOf(parameters);
    // Only the id: the generation may be closed before the list is there.
    return async ({ id: to }, { key, socket } = {}) => {
      const order = { from, to, first: (page - 1) * perPage, count: perPage };
      const found = await whileThere(socket, (client) => readChanges({ ...order, key, client }));
      if (found === undefined) return 'sinceGone';
      if (found === 'busy') return found;
      const { total, elements } = found;
      const head = listHead(elements.length).slice(1);
      const tail = pageTail(elements.length, page, perPage, total);
      const bytes = Buffer.from(
        `{"from":"${from}","to":"${to}",${head}${elements.join(RECORD_SEPARATOR)}${tail}`,
      );
      const link = pageLinks('/changes', parameters, { page, perPage, total });
      return makeJsonResource({ bytes, hash: hashBytes(bytes) }, to, link);
    };
  });
}

/** Calls a function of another thread, which can see in its argument whether the client has left. */
async function whileThere<Result>(
  socket: Requester['socket'],
  call: (client: Client) => Promise<Result>,
): Promise<Result> {
  const client = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  // Not events: the requests of a connection may be many, and each would add a listener.
  const timer = setInterval(() => {
    if (socket?.readableEnded) client[0] = CLIENT.ended;
    if (socket?.destroyed) client[0] = CLIENT.left;
  }, LOOK_MS);
  try {
    return await call(client);
  } finally {
    clearInterval(timer);
  }
}

/** @throws ParameterError */
function sinceOf(parameters: QueryParameters): string {
  const since = parameters.get('since');
  if (isGenerationId(since)) return since;
  throw new ParameterError(
    'since',
    since === undefined
      ? 'since is missing. To begin, read the whole catalogue from one snapshot. Then send its id, from the X-Snapshot header of the responses, as since'
      : 'since must be the id of a snapshot, from the X-Snapshot header of an earlier response, such as 000041-8b1a9953c461',
  );
}
