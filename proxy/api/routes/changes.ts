/** The route of changes since an earlier snapshot. */
import { hashBytes } from '../../../lib/format/content-hash.ts';
import { isGenerationId } from '../../../lib/format/layout.ts';
import { listHead, pageTail, RECORD_SEPARATOR } from '../../../lib/format/pack.ts';
import { PAGING_NAMES, ParameterError, pagingOf, type QueryParameters } from '../parameters.ts';
import { makeJsonResource, makeRoute, type PageLinks, type Route } from './route.ts';

export function changesRoute(pageLinks: PageLinks): Route {
  return makeRoute('changes', ['since', ...PAGING_NAMES], (parameters) => {
    const from = sinceOf(parameters);
    const { page, perPage } = pagingOf(parameters);
    return ({ id: to, changesSince }) => {
      const found = changesSince(from, (page - 1) * perPage, perPage);
      if (found === undefined) return 'sinceGone';
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
