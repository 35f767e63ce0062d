/**
 * The explorer: pages for people who want to see the covers. Each page shows the result of one call of
 * the API, and the call itself as code. The call is made within the process (`call-api.ts`) with
 * EXPLORER_KEY, and counts towards its limit. So a crawler of the explorer cannot take more of the proxy
 * than a client with that key. One visitor cannot use it up: each address may open a limited number of pages.
 * For names that `/match` does not find, the page makes some more calls, which count as pages.
 */
import type { IncomingMessage } from 'node:http';
import type { BlockList } from 'node:net';
import type { Logger } from 'pino';
import type { Body, Cover, Game, MatchItem } from '../../client/contract-types.ts';
import { isNumeral } from '../../find/text/equal-words.ts';
import { wordsOf } from '../../find/text/words.ts';
import { addressOf, type SampleCall } from '../../lib/pages/files/call-samples.js';
import { type Html, html } from '../../lib/pages/html.ts';
import type { SiteFrame } from '../../lib/pages/layout.ts';
import { countOf } from '../../lib/pages/shown-values.ts';
import { clientAddress } from '../../lib/program/client-address.ts';
import { AddressLimits } from '../../proxy/admit/limits/address-limits.ts';
import { BASE, type RequestHead, splitTarget } from '../../proxy/http/request.ts';
import { respond } from '../../proxy/http/resource.ts';
import { type ApiHandler, type HeaderLines, JSON_TYPE } from '../../proxy/http/response.ts';
import type { CurrentGeneration } from '../../proxy/snapshot/generation.ts';
import { parseRecords } from '../docs/examples.ts';
import {
  HTML,
  makePage,
  pageResource,
  uncachedPage,
  withoutSlash,
} from '../static/page-responses.ts';
import type { SiteAnswer } from '../static/site-handler.ts';
import { callOf, EXPLORE, MATCH, readView, type View } from './address.ts';
import { type ApiReply, callApi } from './call-api.ts';
import { csvLine } from './csv.ts';
import { matchPage } from './match-page.ts';
import { coverOf, explorerPage, originOf, type PageContext, previewOf } from './page.ts';
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
  return new AddressLimits(MOST_PAGES, memory);
}

export interface ExplorerParts {
  readonly frame: SiteFrame;
  readonly api: ApiHandler;
  readonly current: CurrentGeneration;
  /** The key for all pages. */
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

export function makeExplorer(parts: ExplorerParts): SiteAnswer {
  return (path, request, head) => {
    if (path !== EXPLORE && path !== MATCH && !path.startsWith(`${EXPLORE}/`)) return undefined;
    return /[^/]\/$/.test(path) ? withoutSlash(request.url) : answer(request, head);
  };

  async function answer(request: IncomingMessage, head: RequestHead) {
    const rendered = await render(request, head, parts).catch((error) => {
      // The API answers nobody who has left.
      if (!request.socket.destroyed)
        parts.log.error({ err: error }, 'a page of the explorer failed');
      return failure(parts.frame);
    });
    const { status, page, headers, type = HTML } = rendered;
    const content = makePage(type, page.toString(), {
      cacheControl: status === 200 ? 'private, no-cache' : 'no-store',
      // Also on a page without images: the script may put those of another page there.
      imageOrigin: originOf(parts.current()),
      headers,
    });
    return status === 200 ? respond(pageResource(content), head) : uncachedPage(status, content);
  }
}

interface RenderedPage {
  readonly status: number;
  readonly page: Html | string;
  readonly headers?: HeaderLines;
  /** The Content-Type; by default that of a page. */
  readonly type?: string;
}

/** What a page without a call shows: nothing of the API. */
const NO_CALL: ApiReply = { status: 200, header: () => undefined, text: '{}' };

async function render(
  { url = '', socket }: IncomingMessage,
  head: RequestHead,
  parts: ExplorerParts,
): Promise<RenderedPage> {
  const { frame, api, explorerKey, publicUrl } = parts;
  const view = readView(...splitTarget(url));
  if (view === undefined) return notFound(frame);
  const wait = secondsToWait(socket.remoteAddress, head, parts);
  if (wait > 0) {
    const text = 'You have opened many pages in one minute.';
    return waitPage(frame, 429, 'Too many pages', text, String(wait));
  }
  const call = callOf(view);
  const reply = call
    ? await callApi(api, explorerKey, addressOf(call, ''), { socket, head })
    : NO_CALL;
  // Read only now, since a store of shared limits takes time to answer.
  const generation = parts.current();
  if (reply.status !== 200 || generation === undefined) return errorPage(frame, reply);
  const imageOrigin = originOf(generation);
  const apiUrl = `${publicUrl}${BASE}`;
  const search: CallSearch = async (query) =>
    secondsToWait(socket.remoteAddress, head, parts) > 0
      ? undefined
      : callApi(api, explorerKey, addressOf({ path: '/search', query }, ''), { socket, head });
  const context = { frame, address: url, call, apiUrl, imageOrigin, generation };
  const page = await pageOf(view, reply, context, search);
  if (page !== undefined && call !== undefined) {
    const format = new URLSearchParams(splitTarget(url)[1]).get('format');
    if (format === 'json') return { status: 200, page: reply.text, type: JSON_TYPE };
    if (format === 'csv')
      return { status: 200, page: csvOf(reply.text), type: 'text/csv; charset=utf-8' };
  }
  return page === undefined ? notFound(frame) : { status: 200, page };
}

/** By this mark at the beginning, Excel knows that a file is UTF-8. */
const BYTE_ORDER_MARK = '\uFEFF';

/** The records of a body of the API as CSV: their texts and numbers, and the address of the cover of each. */
function csvOf(text: string): string {
  type Row = Partial<Game & Pick<Cover, 'files'>>;
  const body = parseRecords<{ data?: Row[]; covers?: Row[]; files?: Row[] }>(text);
  const rows = (body.data ?? body.covers ?? body.files ?? []).map((record) => {
    const values = Object.entries(record).filter(([, value]) => Object(value) !== value);
    const { platform } = record;
    const image = previewOf(record.files ? record : coverOf(record as Game));
    return { ...(platform && { platform: platform.slug }), ...Object.fromEntries(values), image };
  });
  const lines = [Object.keys(rows[0] ?? {}), ...rows.map((row) => Object.values(row))];
  return BYTE_ORDER_MARK + lines.map((values) => `${csvLine(values)}\r\n`).join('');
}

/** For how long a visitor must wait for a page; 0 if the page is admitted. */
function secondsToWait(
  remoteAddress: string | undefined,
  { forwardedFor }: RequestHead,
  { visitors, trustedProxies, explorerLimit, now }: ExplorerParts,
): number {
  const address = clientAddress(remoteAddress, forwardedFor, trustedProxies);
  const share = Math.ceil((explorerLimit() ?? MOST_PAGES) * VISITORS_SHARE);
  const { admitted, resetSeconds } = visitors.admit(address, now(), Math.min(MOST_PAGES, share));
  return admitted ? 0 : resetSeconds;
}

/** @returns undefined if what the page shows exists, but not at this address */
async function pageOf(
  view: View,
  reply: ApiReply,
  context: PageContext,
  search: CallSearch,
): Promise<Html | undefined> {
  if (view.kind === 'match') {
    const { data }: Partial<Body<'/match'>> = parseRecords(reply.text);
    return matchPage(view, data && (await withNear(data, view.platform, search)), context);
  }
  if (view.kind === 'game') return gamePage(parseRecords<Game>(reply.text), context);
  if (view.kind === 'cover') {
    const cover = parseRecords<Cover>(reply.text);
    const { slug, platform } = cover.game;
    const isHere = slug === view.slug && platform.slug === view.platform;
    return isHere ? coverPage(cover, context) : undefined;
  }
  const { platformBySlug } = context.generation.index;
  if (view.platform !== undefined && !platformBySlug.has(view.platform)) return undefined;
  const found = parseRecords<Body<'/search'>>(reply.text);
  return searchPage(view, found, reply.header('X-Search-Match'), context);
}

/** A call of `/search`; undefined if the visitor may not open another page now: each call counts as one. */
type CallSearch = (query: NonNullable<SampleCall['query']>) => Promise<ApiReply | undefined>;

/** For how many names of a page that were not found near spellings are searched. */
const MOST_SEARCHES = 5;

/** Names that were not found get what `/search` finds as candidates. */
async function withNear(
  items: readonly MatchItem[],
  platform: string | undefined,
  search: CallSearch,
): Promise<MatchItem[]> {
  let searches = 0;
  const searched = items.map(async (item) => {
    const { read, game, candidates } = item;
    const isOpen = read !== null && game === null && candidates.length === 0;
    if (!isOpen || ++searches > MOST_SEARCHES) return item;
    const q = read.title.slice(0, 100);
    const include = 'cover,titles';
    const reply = await search({ q, platform, sort: 'relevance', include, per_page: '3' });
    if (reply?.status !== 200) return item;
    const { data } = parseRecords<Body<'/search'>>(reply.text);
    const isPartial = reply.header('X-Search-Match') === 'partial';
    const near = isPartial ? data.filter((each) => agreeInWord(q, each)) : data;
    return { ...item, candidates: near.map((each) => ({ match: 'near' as const, game: each })) };
  });
  return Promise.all(searched);
}

/** Whether a text and a game have more in common than a number. */
function agreeInWord(text: string, { title, titles = [] }: Game): boolean {
  const words = wordsOf(text).filter((word) => /\p{L}/u.test(word) && !isNumeral(word));
  const ofGame = [title, ...titles].flatMap(wordsOf);
  return words.some((word) => ofGame.some((other) => other.includes(word)));
}

// What the explorer shows instead of a result.

function notFound(frame: SiteFrame): RenderedPage {
  const lead = 'Nothing in the catalogue has this address. It may have been renamed or removed.';
  return messagePage(frame, 404, 'Not found', lead, startLink('Search the catalogue'));
}

/** For faults of the program; the log has the cause. */
function failure(frame: SiteFrame): RenderedPage {
  const lead =
    'This page could not be made. Try again in a minute. If it happens again, tell the operator of this site.';
  return messagePage(frame, 500, 'Something went wrong', lead);
}

/** The key is the operator's, so the visitor has done nothing wrong. Not 503: the proxy serves everything else. */
function closed(frame: SiteFrame): RenderedPage {
  const lead =
    'Its API key is not accepted. The operator of this site must set another one. The API works as usual.';
  return messagePage(frame, 500, 'The explorer is closed', lead);
}

/** The page for an error of the API. */
export function errorPage(frame: SiteFrame, reply: ApiReply): RenderedPage {
  const { status, text, header } = reply;
  if (status === 401) return closed(frame);
  if (status === 404) return notFound(frame);
  if (status === 400 || status === 414) {
    const { error }: { error: string } = JSON.parse(text);
    return messagePage(frame, status, 'Check your search', `${error}.`, startLink('Start again'));
  }
  const seconds = header('Retry-After');
  if (status === 429) {
    return waitPage(
      frame,
      429,
      'Too many requests',
      'Many people are using the explorer right now.',
      seconds,
    );
  }
  if (status === 500) return failure(frame);
  return waitPage(
    frame,
    503,
    'Back soon',
    'The catalogue is not available at the moment.',
    seconds,
  );
}

/** @param seconds the value of `Retry-After` */
function waitPage(
  frame: SiteFrame,
  status: number,
  title: string,
  text: string,
  seconds: string | undefined,
): RenderedPage {
  const number = Number(seconds ?? 60);
  const time = number > 90 ? countOf(Math.ceil(number / 60), 'minute') : countOf(number, 'second');
  const page = messagePage(frame, status, title, `${text} Try again in ${time}.`);
  return seconds === undefined ? page : { ...page, headers: `Retry-After: ${seconds}\r\n` };
}

function messagePage(
  frame: SiteFrame,
  status: number,
  title: string,
  lead: string,
  more?: Html,
): RenderedPage {
  const body = html`<h1>${title}</h1>\n<p class="lead">${lead}</p>\n${more}`;
  return { status, page: explorerPage(frame, title, body) };
}

function startLink(text: string): Html {
  return html`<p><a class="button" href="${EXPLORE}">${text}</a></p>`;
}
