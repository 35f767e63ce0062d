/**
 * The pages outside the base, by their exact path. Only the paths in the map exist; the path of a request is never
 * used as a file name. What shows the catalogue is made once for each generation, when it is first asked for: in
 * pieces, between which the thread serves other requests. Invariant: the generation stays open until
 * they are made.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Html } from '../lib/pages/html.ts';
import type { SiteFrame } from '../lib/pages/layout.ts';
import { BASE } from '../proxy/http/request.ts';
import type { Resource } from '../proxy/http/resource.ts';
import { headerLines } from '../proxy/http/response.ts';
import type { SiteParts } from '../proxy/serve/workers/serving-thread.ts';
import type { Generation } from '../proxy/snapshot/generation.ts';
import { parseContract, resolveContract } from './docs/contract.ts';
import { makeContractDocuments, ownContract } from './docs/contract-documents.ts';
import { makeDocs } from './docs/docs.ts';
import { chooseExamples, type Examples, type Shown, showGeneration } from './docs/examples.ts';
import { originOf } from './explore/page.ts';
import { startPage } from './start-page.ts';
import { makeFixedPages } from './static/fixed-pages.ts';
import { HTML, makePage, type Page, pageResource } from './static/page-responses.ts';

/** What the pages say about this installation. */
interface SiteFacts {
  /** The address at which clients reach the proxy, for examples and the contract. */
  readonly publicUrl: string;
  /** The limit of a key for which no other was set, in requests per minute. */
  readonly defaultLimit: number;
  readonly frame: SiteFrame;
}

/** A page, or a function that makes one which shows the catalogue. Only markup may show images. */
type SitePage = Resource | ((shown: Shown) => Promise<Html | Page>);

/** Tools in browsers read the contract. */
const ANY_ORIGIN = { headers: headerLines('Access-Control-Allow-Origin: *') };

/**
 * Takes 0.2 s.
 * @throws Error when a file of the program is missing
 */
export function makePages(facts: SiteFacts): ReadonlyMap<string, SitePage> {
  const { publicUrl, frame } = facts;
  const api = `${publicUrl}${BASE}`;
  const whole = ownContract(parseContract(), frame);
  const contract = resolveContract(whole);
  const docs = makeDocs(contract, { ...facts, api });
  const documents = [...docs.texts, ...makeContractDocuments(whole, contract, api)];
  const fixed = makeFixedPages(frame);
  return new Map<string, SitePage>([
    ['/', (shown) => startPage(api, frame, shown)],
    ...docs.pages,
    ...documents.map(({ path, type, contentFor }) => {
      const make = async ({ examples }: Shown) => makePage(type, contentFor(examples), ANY_ORIGIN);
      return [path, make] as const;
    }),
    ...Array.from(fixed, ([path, page]) => [path, pageResource(page)] as const),
  ]);
}

/** What was chosen for a generation: not the generation itself, which would stay in memory. */
interface Made {
  readonly id: string | undefined;
  examples: Examples | undefined;
}

/** @returns a function that finds the page at a path; undefined if there is none */
export function makePageFinder(
  pages: ReadonlyMap<string, SitePage>,
  { current }: Pick<SiteParts, 'current'>,
): (path: string) => Promise<Resource> | undefined {
  let made: Made | undefined;
  const resources = new Map<string, Promise<Resource>>();

  return (path) => {
    const page = pages.get(path);
    if (page === undefined) return undefined;
    if (typeof page !== 'function') return Promise.resolve(page);
    const generation = current();
    if (made === undefined || made.id !== generation?.id) {
      made = { id: generation?.id, examples: undefined };
      resources.clear();
    }
    const known = resources.get(path);
    if (known !== undefined) return known;
    const making = make(page, generation, made);
    resources.set(path, making);
    // Only what was made is kept.
    making.catch(() => resources.get(path) === making && resources.delete(path));
    return making;
  };

  async function make(
    page: Exclude<SitePage, Resource>,
    generation: Generation | undefined,
    made: Made,
  ): Promise<Resource> {
    const isHeld = generation?.stored.hold();
    try {
      made.examples ??= chooseExamples(generation);
      await nextTurn();
      const content = await page(showGeneration(generation, made.examples));
      await nextTurn();
      if (isPage(content)) return pageResource(content);
      const imageOrigin = originOf(generation);
      return pageResource(makePage(HTML, content.toString(), { imageOrigin }));
    } finally {
      if (isHeld) generation?.stored.release();
    }
  }
}

function isPage(made: Html | Page): made is Page {
  return Object.hasOwn(Object(made), 'content');
}
