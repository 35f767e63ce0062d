/**
 * The pages outside the base, by their exact path. Only the paths in the map exist; the path of a request is never
 * used as a file name. What shows the catalogue is made once for each generation, when it is first asked for.
 */
import type { Html } from '../lib/pages/html.ts';
import { BASE } from '../proxy/http/request.ts';
import type { Resource } from '../proxy/http/resource.ts';
import { headerLines } from '../proxy/http/response.ts';
import type { SiteParts } from '../proxy/serve/workers/serving-thread.ts';
import { parseContract, resolveContract } from './docs/contract.ts';
import { makeContractDocuments } from './docs/contract-documents.ts';
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
  /** Whether pages link to the explorer. */
  readonly hasExplorer: boolean;
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
  const { publicUrl, hasExplorer } = facts;
  const api = `${publicUrl}${BASE}`;
  const whole = parseContract();
  const contract = resolveContract(whole);
  const fixed = makeFixedPages(hasExplorer);
  return new Map<string, SitePage>([
    ['/', (shown) => startPage(api, hasExplorer, shown)],
    ...makeDocs(contract, { ...facts, api }),
    ...makeContractDocuments(whole, contract, api).map(({ path, type, contentFor }) => {
      const make = async ({ examples }: Shown) => makePage(type, contentFor(examples), ANY_ORIGIN);
      return [path, make] as const;
    }),
    ...Array.from(fixed, ([path, page]) => [path, pageResource(page)] as const),
  ]);
}

/** @returns a function that finds the page at a path; undefined if there is none */
export function makePageFinder(
  pages: ReadonlyMap<string, SitePage>,
  { current }: Pick<SiteParts, 'current'>,
): (path: string) => Promise<Resource> | undefined {
  // Not the generation itself, which would stay in memory.
  let made: { readonly id: string | undefined; readonly examples: Examples } | undefined;
  const resources = new Map<string, Promise<Resource>>();

  return (path) => {
    const page = pages.get(path);
    if (page === undefined) return undefined;
    if (typeof page !== 'function') return Promise.resolve(page);
    const generation = current();
    if (made === undefined || made.id !== generation?.id) {
      made = { id: generation?.id, examples: chooseExamples(generation) };
      resources.clear();
    }
    const known = resources.get(path);
    if (known !== undefined) return known;
    const imageOrigin = originOf(generation);
    const resource = page(showGeneration(generation, made.examples)).then((made) =>
      pageResource(isPage(made) ? made : makePage(HTML, made.toString(), { imageOrigin })),
    );
    resources.set(path, resource);
    return resource;
  };
}

function isPage(made: Html | Page): made is Page {
  return Object.hasOwn(Object(made), 'content');
}
