/** The routes of covers: one cover, the covers of a platform, and batches of covers. */
import { findById } from '../../../format/index/ids.ts';
import { batchOf } from '../parameters/batch.ts';
import { PAGING_NAMES, pagingOf } from '../parameters/paging.ts';
import { readParameters } from '../parameters/read-parameters.ts';
import { gather, recordBody } from '../resources/body.ts';
import { batchBody, pageBody } from '../resources/lists.ts';
import { makeResource } from '../resources/resource.ts';
import { findBatch, rangeOfPage } from './find-records.ts';
import type { PageLinks } from './page-links.ts';
import { plainRoute, type Route } from './route.ts';

export function coverRoute(id: string): Route {
  return plainRoute('cover', ({ index, covers }) => {
    const cover = findById(index.covers, id);
    return cover === undefined ? undefined : recordBody(covers, cover);
  });
}

export function platformCoversRoute(slug: string, pageLinks: PageLinks): Route {
  return {
    name: 'platform_covers',
    prepare(queryString) {
      const parameters = readParameters(queryString, PAGING_NAMES);
      const paging = pagingOf(parameters);
      return ({ id, index, covers: records }) => {
        const platform = index.platforms[index.platformBySlug.get(slug) ?? -1];
        if (platform === undefined) return undefined;
        const page = { ...paging, total: platform.covers };
        const [from, to] = rangeOfPage(platform.first_cover, platform.covers, paging);
        const body = pageBody(from === to ? [] : [{ records, from, to }], to - from, page);
        return makeResource(body, id, pageLinks(`/platforms/${slug}/covers`, parameters, page));
      };
    },
  };
}

export const coverBatchRoute: Route = {
  name: 'covers',
  prepare(queryString) {
    const parameters = readParameters(queryString, ['ids']);
    const hint = 'To list the covers of a platform, use /platforms/{slug}/covers';
    const batch = batchOf(parameters, ['ids'], hint);
    return (generation) => {
      const { numbers, missing } = findBatch(generation, generation.index.covers, batch);
      const body = batchBody(gather(generation.covers, numbers), numbers.length, missing);
      return makeResource(body, generation.id);
    };
  },
};
