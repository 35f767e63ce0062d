/**
 * The route of changes since an earlier snapshot. The list may have to be joined from differences first,
 * so its resource comes later.
 */
import { hashBytes } from '../../../format/content-hash.ts';
import { isGenerationId } from '../../../format/layout.ts';
import type { ReadChanges } from '../../changes/changes.ts';
import { type ListContent, pageBody } from '../bodies.ts';
import {
  PAGING_NAMES,
  ParameterError,
  type Parameters,
  pagingOf,
  readParameters,
} from '../parameters.ts';
import { makeResource, type PageLinks, type Route } from './route.ts';

export function changesRoute(readChanges: ReadChanges, pageLinks: PageLinks): Route {
  return {
    name: 'changes',
    prepare(queryString) {
      const parameters = readParameters(queryString, ['since', ...PAGING_NAMES]);
      const from = sinceOf(parameters);
      const { page, perPage } = pagingOf(parameters);
      const first = (page - 1) * perPage;
      // Only the id: the generation may be closed before the list is there.
      return async ({ id: to }) => {
        const found = await readChanges({ from, to, first, count: perPage });
        if (found === 'gone') return 'sinceGone';
        if (found === 'busy') return 'busy';
        const numbers = { page, perPage, total: found.total };
        const { count, text } = found;
        const content: ListContent = {
          count,
          hashed: hashBytes(text),
          addTo: (body) => body.addText(text),
        };
        const body = pageBody(content, numbers, `,"from":"${from}","to":"${to}"`);
        return makeResource(body, to, pageLinks('/changes', parameters, numbers));
      };
    },
  };
}

/** @throws ParameterError */
function sinceOf(parameters: Parameters): string {
  const since = parameters.get('since');
  if (since === undefined) {
    throw new ParameterError(
      'since is missing. To begin, read the whole catalogue from one snapshot. Then send its id, from the X-Snapshot header of the responses, as since',
    );
  }
  if (isGenerationId(since)) return since;
  throw new ParameterError(
    'since must be the id of a snapshot, from the X-Snapshot header of an earlier response, such as 000041-8b1a9953c461',
  );
}
