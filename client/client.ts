/**
 * The client of the API. It sends requests with the types of the contract, follows pages, and pins
 * crawls to one snapshot.
 */
import createFetchClient from 'openapi-fetch';
import type { ApiPath, Body, Change, Item, OptionsArgument, PagedPath } from './contract-types.ts';
import { makeRevalidating } from './revalidate.ts';
import { makeSend, type SendOptions } from './send.ts';

export interface ClientOptions extends SendOptions {
  /** The address of the API, such as `https://covers.example/api/v1`. */
  readonly url: string;
  /**
   * How much is kept, to be revalidated with `If-None-Match`, in characters. By default 10 million;
   * with 0 nothing is kept.
   */
  readonly cacheCharacters?: number | undefined;
}

export interface ApiResponse<T> {
  readonly data: T;
  /** With its status and headers. Its body has been read. */
  readonly response: Response;
}

/** What differs between two snapshots. Iterate over it with `for await`. */
export interface Changes extends AsyncIterable<Change> {
  readonly from: string;
  /** The snapshot with the changes. Keep it, and pass it to `changes` the next time. */
  readonly to: string;
  readonly total: number;
}

/** Every method throws an `ApiError` unless the response is a success. */
export interface Client {
  /** The snapshot that every request names; undefined for a client that reads the current one. */
  readonly snapshot: string | undefined;
  /** The body of a response. */
  get<P extends ApiPath>(path: P, ...options: OptionsArgument<P>): Promise<Body<P>>;
  /** Like `get`, with the response, for its headers. */
  request<P extends ApiPath>(
    path: P,
    ...options: OptionsArgument<P>
  ): Promise<ApiResponse<Body<P>>>;
  /**
   * The pages of a list, from `query.page` or the first one on. All of them come from one snapshot. They
   * have 100 items unless `query.per_page` says otherwise.
   */
  pages<P extends PagedPath>(path: P, ...options: OptionsArgument<P>): AsyncGenerator<Body<P>>;
  /** The items of all these pages. */
  items<P extends PagedPath>(path: P, ...options: OptionsArgument<P>): AsyncGenerator<Item<P>>;
  /** What changed since a snapshot. Throws an `ApiError` with status 410 if that was too long ago. */
  changes(since: string, options?: { readonly signal?: AbortSignal | undefined }): Promise<Changes>;
  /** The response with a file of the snapshot, such as `search.json`. Its body has not been read. */
  file(path: string, options?: { readonly signal?: AbortSignal | undefined }): Promise<Response>;
  /**
   * A client whose requests are all answered from one snapshot: the given one, or the current one.
   * Once the snapshot is no longer kept, they throw an `ApiError` with status 410.
   */
  pin(snapshot?: string): Promise<Client>;
}

/** Options of any path. {@link Client} has the exact types. */
interface AnyOptions {
  readonly path?: Readonly<Record<string, unknown>> | undefined;
  readonly query?: Readonly<Record<string, unknown>> | undefined;
  readonly signal?: AbortSignal | undefined;
}

interface AnyOperation {
  readonly parameters: Omit<AnyOptions, 'signal'> & {
    readonly header?: Readonly<Record<string, unknown>>;
  };
  // biome-ignore lint/suspicious/noExplicitAny: the body of any path
  readonly responses: { readonly 200: { readonly content: { readonly 'application/json': any } } };
}

const LARGEST_PAGE = 100;

export function createClient(options: ClientOptions): Client {
  const url = options.url.replace(/\/+$/, '');
  const send = makeSend(options);
  const { GET } = createFetchClient<Record<string, { readonly get: AnyOperation }>>({
    baseUrl: url,
    fetch: makeRevalidating(send, options.cacheCharacters ?? 10_000_000),
  });

  async function request(at: string, { path, query, signal }: AnyOptions, snapshot?: string) {
    const params = { path, query, header: { 'X-Snapshot': snapshot } };
    const { data, response } = await GET(at, { params, signal: signal ?? null });
    return { data, response };
  }

  /** The pages of a list. The first one names the snapshot of all others. */
  async function* pages(at: string, options: AnyOptions, snapshot?: string) {
    const { per_page = LARGEST_PAGE, page: first = 1 } = options.query ?? {};
    let pinned = snapshot;
    for (let page = Number(first); ; page++) {
      const query = { ...options.query, per_page, page };
      const { data, response } = await request(at, { ...options, query }, pinned);
      pinned ??= snapshotOf(response);
      yield data;
      if (page >= data.total_pages) return;
    }
  }

  async function* items(at: string, options: AnyOptions, snapshot?: string) {
    for await (const { data } of pages(at, options, snapshot)) yield* data;
  }

  async function changes(since: string, { signal }: AnyOptions, snapshot?: string) {
    const query = { since, per_page: LARGEST_PAGE };
    const { data: first } = await request('/changes', { query, signal }, snapshot);
    const { from, to, total, total_pages } = first;
    return {
      from,
      to,
      total,
      async *[Symbol.asyncIterator]() {
        yield* first.data;
        if (total_pages > 1) yield* items('/changes', { query: { ...query, page: 2 }, signal }, to);
      },
    };
  }

  function clientOf(snapshot?: string): Client {
    return {
      snapshot,
      request: (path, ...[options = {}]) => request(path, options, snapshot),
      get: async (path, ...[options = {}]) => (await request(path, options, snapshot)).data,
      pages: (path, ...[options = {}]) => pages(path, options, snapshot),
      items: (path, ...[options = {}]) => items(path, options, snapshot),
      changes: (since, options = {}) => changes(since, options, snapshot),
      file: (path, { signal } = {}) => {
        const headers = snapshot === undefined ? {} : { 'X-Snapshot': snapshot };
        return send(
          new Request(`${url}/snapshot/files/${path}`, { headers, signal: signal ?? null }),
        );
      },
      async pin(id) {
        const found = id ?? snapshotOf((await request('/stats', {})).response);
        if (found !== undefined) return clientOf(found);
        throw new Error(
          `The responses of ${url} have no X-Snapshot header. Check what forwards the requests.`,
        );
      },
    };
  }

  return clientOf();
}

function snapshotOf({ headers }: Response): string | undefined {
  return headers.get('x-snapshot') ?? undefined;
}
