/** The Link header of a page (RFC 8288). */
import { totalPages } from '../../../format/pack.ts';
import { BASE } from '../../http/request.ts';
import type { Page } from '../bodies.ts';
import { PAGING_NAMES, type Parameters } from '../parameters.ts';

/**
 * Every page that it links exists, even if the page that was requested is past the end.
 * @param publicUrl the address of the API, without a slash at its end
 * @param path the path after the base
 * @param parameters those of the request; the links repeat them
 */
export type PageLinks = (path: string, parameters: Parameters, page: Page) => string;

/** @param publicUrl the address at which clients reach the proxy; '' for links without a host */
export function makePageLinks(publicUrl: string): PageLinks {
  return (path, parameters, { page, perPage, total }) => {
    const last = totalPages(total, perPage);
    const others = new URLSearchParams([...parameters]);
    for (const name of PAGING_NAMES) others.delete(name);
    const start = `${publicUrl}${BASE}${path}?${others.size > 0 ? `${others}&` : ''}`;
    const link = (relation: string, target: number) =>
      `<${start}page=${target}&per_page=${perPage}>; rel="${relation}"`;
    const links = [link('first', 1)];
    if (page > 1 && last > 0) links.push(link('prev', Math.min(page - 1, last)));
    if (page < last) links.push(link('next', page + 1));
    if (last > 0) links.push(link('last', last));
    return links.join(', ');
  };
}
