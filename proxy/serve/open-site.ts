/**
 * What a proxy serves outside the base path of the API: a site, if it is given one. The proxy knows only
 * this interface.
 */
import type { BlockList } from 'node:net';
import type { Logger } from 'pino';
import type { KeyTable } from '../admit/keys/key-table.ts';
import { toResponder } from '../http/node-response.ts';
import { type ApiHandler, prepareError } from '../http/response.ts';
import type { SiteHandler } from '../http/server.ts';
import type { CurrentGeneration } from '../snapshot/generation.ts';

/** A site as the first thread prepares it for all serving threads. */
export interface Site {
  /** The address of a {@link SiteModule}. Each serving thread imports it, since threads share no functions. */
  readonly module: string;
  /** What that module is given: data that can be passed to another thread. */
  readonly data: unknown;
}

interface SiteModule<Data = never> {
  makeSite(data: Data, parts: SiteParts): SiteHandler;
}

/** What a serving thread gives its site. */
export interface SiteParts {
  /** Answers requests of the site to the API, which count like any other. */
  readonly api: ApiHandler;
  readonly current: CurrentGeneration;
  readonly keys: Pick<KeyTable, 'find' | 'byHash'>;
  readonly trustedProxies: BlockList;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
  readonly log: Logger;
}

const NOT_FOUND = prepareError(404, 'Not found');

/** @returns the handler of the site; without a site, one that finds nothing */
export async function openSite(site: Site | undefined, parts: SiteParts): Promise<SiteHandler> {
  if (site === undefined) return (_request, response) => toResponder(response).send(NOT_FOUND);
  const { makeSite }: SiteModule = await import(site.module);
  return makeSite(site.data as never, parts);
}
