/** The product as an engine for judged queries, over HTTP, in the order of relevance. */
import { type Find, LOOKED_AT } from './quality.ts';

interface Page {
  readonly data: readonly { readonly slug: string; readonly platform: { readonly slug: string } }[];
}

/** @param url of a running proxy, without a trailing slash; @param key with a high limit */
export function findInProduct(url: string, key: string): Find {
  return async (q) => {
    const parameters = new URLSearchParams({ q, sort: 'relevance', per_page: String(LOOKED_AT) });
    const response = await fetch(`${url}/api/v1/search?${parameters}`, {
      headers: { 'X-Api-Key': key },
    });
    const text = await response.text();
    if (response.status !== 200) throw new Error(`"${q}" got ${response.status}: ${text}`);
    const { data }: Page = JSON.parse(text);
    return data.map((game) => `${game.platform.slug}/${game.slug}`);
  };
}
