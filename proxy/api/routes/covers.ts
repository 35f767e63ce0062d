/** The routes of covers: one cover, the covers of a platform, and batches of covers. */
import { findById, splitId } from '../../../format/index/ids.ts';
import { idsOf } from '../parameters/batch.ts';
import { PAGING_NAMES, pagingOf } from '../parameters/paging.ts';
import { ParameterError, readParameters } from '../parameters/read-parameters.ts';
import { recordBody } from '../resources/body.ts';
import { consecutiveCovers, gatherCovers } from '../resources/covers.ts';
import { batchBody, pageBody } from '../resources/lists.ts';
import { makeResource } from '../resources/resource.ts';
import { findBatch, findPlatform, rangeOfPage } from './find-records.ts';
import type { PageLinks } from './page-links.ts';
import { plainRoute, type Route } from './route.ts';

export function coverRoute(id: string): Route {
  return plainRoute('cover', ({ index, covers }) => {
    const wanted = splitId(id);
    const cover = wanted && findById(index.covers, wanted);
    return cover === undefined ? undefined : recordBody(covers, cover);
  });
}

export function platformCoversRoute(slug: string, pageLinks: PageLinks): Route {
  return {
    name: 'platform_covers',
    prepare(queryString) {
      const parameters = readParameters(queryString, PAGING_NAMES);
      const paging = pagingOf(parameters);
      return (generation) => {
        const platform = findPlatform(generation, slug);
        if (platform === undefined) return undefined;
        const page = { ...paging, total: platform.covers };
        const [from, to] = rangeOfPage(platform.first_cover, platform.covers, paging);
        const body = pageBody(consecutiveCovers(generation, from, to), page);
        const link = pageLinks(`/platforms/${slug}/covers`, parameters, page);
        return makeResource(body, generation.id, link);
      };
    },
  };
}

export const coverBatchRoute: Route = {
  name: 'covers',
  prepare(queryString) {
    const parameters = readParameters(queryString, ['ids']);
    const batch = idsOf(parameters);
    if (batch === undefined) {
      throw new ParameterError(
        'ids is missing. To list the covers of a platform, use /platforms/{slug}/covers',
      );
    }
    return (generation) => {
      const { numbers, missing } = findBatch(generation, generation.index.covers, batch);
      const body = batchBody(gatherCovers(generation, numbers), missing);
      return makeResource(body, generation.id);
    };
  },
};
