/**
 * The product as an engine for judged queries, over HTTP. It asks for `sort=relevance`; a proxy that
 * refuses this sort is asked in its default order.
 */
import { type Find, LOOKED_AT } from './quality.ts';

export interface ProductSearch {
  readonly find: Find;
  /** The order that the proxy was asked for; undefined for its default order. */
  readonly sort: 'relevance' | undefined;
}

interface Page {
  readonly data: readonly { readonly slug: string; readonly platform: { readonly slug: string } }[];
}

/** @param url of a running proxy, without a trailing slash; @param key with a high limit */
export async function openProductSearch(url: string, key: string): Promise<ProductSearch> {
  const ask = (q: string, sort: string | undefined): Promise<Response> => {
    const parameters = new URLSearchParams({ q, per_page: String(LOOKED_AT) });
    if (sort !== undefined) parameters.set('sort', sort);
    return fetch(`${url}/api/v1/search?${parameters}`, { headers: { 'X-Api-Key': key } });
  };
  const { status } = await ask('a', 'relevance');
  const sort = status === 400 ? undefined : 'relevance';
  return {
    sort,
    async find(q) {
      const response = await ask(q, sort);
      const text = await response.text();
      if (response.status !== 200) throw new Error(`"${q}" got ${response.status}: ${text}`);
      const { data }: Page = JSON.parse(text);
      return data.map((game) => `${game.platform.slug}/${game.slug}`);
    },
  };
}
