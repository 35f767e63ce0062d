/**
 * The explorer: pages for people who want to see the covers. Each page shows the result of one call of
 * the API, and the call itself as code. The call is made within the process (`call-api.ts`) with
 * EXPLORER_KEY, and counts towards its limit. So a crawler of the explorer cannot take more of the proxy
 * than a client with that key. One visitor cannot use it up: each address may open a limited number of pages.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BlockList } from 'node:net';
import type { Logger } from 'pino';
import type { Body, Cover, Game } from '../../client/contract-types.ts';
import { addressOf } from '../../pages/call-samples.ts';
import { clientAddress } from '../../program/client-address.ts';
import { toResponder } from '../http/node-response.ts';
import { BASE, type RequestHead, readHead, splitTarget } from '../http/request.ts';
import { respond } from '../http/resource.ts';
import { type ApiHandler, withoutSlash } from '../http/response.ts';
import type { SiteHandler } from '../http/server.ts';
import { type AddressLimits, makeAddressLimits } from '../limits/address-limits.ts';
import { HTML, makePage, pageResource, uncachedPage } from '../site/page-responses.ts';
import type { CurrentGeneration, Generation } from '../snapshot/generation.ts';
import { callOf, EXPLORE, MATCH, readView, type View } from './address.ts';
import { type ApiReply, headOfCall, makeCallApi, parseRecords } from './call-api.ts';
import { matchPage } from './match-page.ts';
import {
  errorPage,
  failurePage,
  manyPagesPage,
  noExplorerPage,
  notFoundPage,
} from './message-pages.ts';
import type { PageContext, RenderedPage } from './page.ts';
import { coverPage, gamePage } from './record-pages.ts';
import { searchPage } from './search-page.ts';

/**
 * How many pages a visitor may open in any 60 seconds. A visitor who types a search opens up to one page
 * for each letter.
 */
const MOST_PAGES = 120;
/** The largest part of the limit of EXPLORER_KEY that one visitor may use. */
const VISITORS_SHARE = 1 / 4;

/** @param memory that of another thread, to share its limits */
export function makeVisitorLimits(memory?: SharedArrayBuffer): AddressLimits {
  return makeAddressLimits(MOST_PAGES, memory);
}

export interface ExplorerParts {
  readonly api: ApiHandler;
  readonly snapshots: CurrentGeneration;
  /** The key for all pages; '' if this site has no explorer. */
  readonly explorerKey: string;
  /** The limit of that key, in requests per minute; undefined if the key is not known. */
  readonly explorerLimit: () => number | undefined;
  /** From {@link makeVisitorLimits}. */
  readonly visitors: Pick<AddressLimits, 'admit'>;
  readonly trustedProxies: BlockList;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
  /** The address at which clients reach the proxy. */
  readonly publicUrl: string;
  readonly log: Logger;
}

/** Adds the explorer to the site. */
export function withExplorer(site: SiteHandler, parts: ExplorerParts): SiteHandler {
  const { snapshots, log } = parts;
  const render = makeRender(parts);

  return (request, response, path) => {
    const isHere = path === EXPLORE || path === MATCH || path.startsWith(`${EXPLORE}/`);
    // The site refuses every other method.
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (!isHere || !isRead) site(request, response, path);
    else if (/[^/]\/$/.test(path)) toResponder(response).send(withoutSlash(request.url));
    else answer(request, response).catch(() => response.destroy());
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const head = readHead(request);
    const { status, page, headers } = await render(request, head).catch((error) => {
      log.error({ err: error }, 'a page of the explorer failed');
      return failurePage();
    });
    const content = makePage(HTML, page.toString(), {
      cacheControl: status === 200 ? 'private, no-cache' : 'no-store',
      // Also on a page without images: the script may put those of another page there.
      imageOrigin: originOf(snapshots.current()),
      headers,
    });
    const reply =
      status === 200 ? respond(pageResource(content), head) : uncachedPage(status, content);
    toResponder(response).send(await reply);
  }
}

/** What a page without a call shows: nothing of the API. */
const NO_CALL: ApiReply = { status: 200, header: () => undefined, text: '{}' };

function makeRender(parts: ExplorerParts) {
  const { snapshots, explorerKey, publicUrl } = parts;
  const callApi = makeCallApi(parts.api);

  return async function render(request: IncomingMessage, head: RequestHead): Promise<RenderedPage> {
    if (explorerKey === '') return noExplorerPage();
    const view = readView(...splitTarget(request.url ?? ''));
    if (view === undefined) return notFoundPage();
    const wait = secondsToWait(request, head, parts);
    if (wait > 0) return manyPagesPage(wait);
    const call = callOf(view);
    const reply = call
      ? await callApi(request.socket, headOfCall(head, explorerKey), addressOf(call, ''))
      : NO_CALL;
    // Read only now, since a store of shared limits takes time to answer.
    const generation = snapshots.current();
    if (reply.status !== 200 || generation === undefined) return errorPage(reply);
    const imageOrigin = originOf(generation);
    return pageOf(view, reply, { call, apiUrl: `${publicUrl}${BASE}`, imageOrigin, generation });
  };
}

/** For how long a visitor must wait for a page; 0 if the page is admitted. */
function secondsToWait(
  { socket }: IncomingMessage,
  { forwardedFor }: RequestHead,
  { visitors, trustedProxies, explorerLimit, now }: ExplorerParts,
): number {
  const address = clientAddress(socket.remoteAddress, forwardedFor, trustedProxies);
  const share = Math.ceil((explorerLimit() ?? MOST_PAGES) * VISITORS_SHARE);
  const { admitted, resetSeconds } = visitors.admit(address, now(), Math.min(MOST_PAGES, share));
  return admitted ? 0 : resetSeconds;
}

function pageOf(view: View, reply: ApiReply, context: PageContext): RenderedPage {
  const { generation } = context;
  if (view.kind === 'match') {
    const { data }: Partial<Body<'/match'>> = parseRecords(reply.text);
    return { status: 200, page: matchPage(view, data, context) };
  }
  if (view.kind === 'game') {
    return { status: 200, page: gamePage(parseRecords<Game>(reply.text), context) };
  }
  if (view.kind === 'cover') {
    const cover = parseRecords<Cover>(reply.text);
    const { slug, platform } = cover.game;
    if (slug !== view.slug || platform.slug !== view.platform) return notFoundPage();
    return { status: 200, page: coverPage(cover, context) };
  }
  const { platform } = view;
  if (platform !== undefined && !generation.index.platformBySlug.has(platform)) {
    return notFoundPage();
  }
  const found = parseRecords<Body<'/search'>>(reply.text);
  const step = reply.header('X-Search-Match');
  return { status: 200, page: searchPage(view, found, step, context) };
}

/**
 * The origin of the images of a generation. A replica serves records with the images of its source.
 * @returns undefined if the address of the images is not one that a browser can load
 */
function originOf(generation: Generation | undefined): string | undefined {
  const filesUrl = generation?.manifest.settings.files_url ?? '';
  if (!URL.canParse(filesUrl)) return undefined;
  const { origin } = new URL(filesUrl);
  return /^https?:\/\/[\w.:[\]-]+$/.test(origin) ? origin : undefined;
}
