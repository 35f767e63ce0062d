/**
 * The client of the API. It sends requests with the types of the contract, and follows the pages of a list
 * for as long as they come from one snapshot.
 */
import createFetchClient from 'openapi-fetch';
import type { ApiPath, Body, Change, Item, OptionsArgument, PagedPath } from './contract-types.ts';
import { type MatchOptions, type MatchResult, matchAll } from './match.ts';
import { mapPlatforms } from './platforms.ts';
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
  /** The body of a response. */
  get<P extends ApiPath>(path: P, ...options: OptionsArgument<P>): Promise<Body<P>>;
  /** Like `get`, with the response, for its headers. */
  request<P extends ApiPath>(
    path: P,
    ...options: OptionsArgument<P>
  ): Promise<ApiResponse<Body<P>>>;
  /**
   * The pages of a list, from `query.page` or the first one on. They have 100 items unless
   * `query.per_page` says otherwise. All of them come from one snapshot: once another one is current,
   * throws an `ApiError` with status 412. Begin again then.
   */
  pages<P extends PagedPath>(path: P, ...options: OptionsArgument<P>): AsyncGenerator<Body<P>>;
  /** The items of all these pages. */
  items<P extends PagedPath>(path: P, ...options: OptionsArgument<P>): AsyncGenerator<Item<P>>;
  /**
   * What changed since a snapshot. Throws an `ApiError` with status 410 if that was too long ago, and
   * 412 as `pages` does.
   */
  changes(since: string, options?: { readonly signal?: AbortSignal | undefined }): Promise<Changes>;
  /**
   * The games of files by their names, in order, each as soon as it is known: with as few calls as
   * possible, one after another. Of a path, only the name of the file or folder is sent; a path without a
   * name is not sent, and its result is `skipped`.
   * @param platform a slug or a name of a platform, or several, separated by commas
   */
  match(
    platform: string,
    paths: readonly string[],
    options?: MatchOptions,
  ): AsyncGenerator<MatchResult>;
  /**
   * The slugs of the platforms that names mean, such as those of the folders of a launcher; none if the
   * catalogue has no such platform.
   */
  mapPlatforms(names: readonly string[]): Promise<Map<string, string[]>>;
  /**
   * The response with a file of the current snapshot, such as `search.json`. Its body has not been read.
   * If another snapshot is current than the one in `options`, throws an `ApiError` with status 412.
   */
  file(path: string, options?: FileOptions): Promise<Response>;
}

export interface FileOptions {
  /** The `id` of the manifest that lists the file. */
  readonly snapshot?: string | undefined;
  readonly signal?: AbortSignal | undefined;
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
    // As the contract says of every list: "include=cover,titles".
    querySerializer: { array: { style: 'form', explode: false } },
    fetch: makeRevalidating(send, options.cacheCharacters ?? 10_000_000),
  });

  async function request(at: string, { path, query, signal }: AnyOptions, snapshot?: string) {
    const params = { path, query, header: { 'X-Snapshot': snapshot } };
    const { data, response } = await GET(at, { params, signal: signal ?? null });
    return { data, response };
  }

  async function* pages(at: string, options: AnyOptions, expected?: string) {
    const { per_page = LARGEST_PAGE, page: first = 1 } = options.query ?? {};
    let snapshot = expected;
    for (let page = Number(first); ; page++) {
      const query = { ...options.query, per_page, page };
      const { data, response } = await request(at, { ...options, query }, snapshot);
      snapshot ??= response.headers.get('x-snapshot') ?? undefined;
      yield data;
      if (page >= data.total_pages) return;
    }
  }

  async function* items(at: string, options: AnyOptions, expected?: string) {
    for await (const { data } of pages(at, options, expected)) yield* data;
  }

  return {
    request: (path, ...[options = {}]) => request(path, options),
    get: async (path, ...[options = {}]) => (await request(path, options)).data,
    pages: (path, ...[options = {}]) => pages(path, options),
    items: (path, ...[options = {}]) => items(path, options),
    async changes(since, { signal } = {}) {
      const query = { since, per_page: LARGEST_PAGE };
      const { data: first } = await request('/changes', { query, signal });
      const { from, to, total, total_pages } = first;
      return {
        from,
        to,
        total,
        async *[Symbol.asyncIterator]() {
          yield* first.data;
          const rest = { query: { ...query, page: 2 }, signal };
          if (total_pages > 1) yield* items('/changes', rest, to);
        },
      };
    },
    async mapPlatforms(names) {
      const { data } = await request('/platforms', { query: { include: 'aliases' } });
      return mapPlatforms(data.data, names);
    },
    match(platform, paths, options = {}) {
      const { signal } = options;
      const call = async (query: object) =>
        (await request('/match', { query: { ...query }, signal })).data;
      return matchAll(call, paths, { ...options, platform: [platform] });
    },
    file(path, { snapshot, signal } = {}) {
      const headers = snapshot === undefined ? {} : { 'X-Snapshot': snapshot };
      return send(
        new Request(`${url}/snapshot/files/${path}`, { headers, signal: signal ?? null }),
      );
    },
  };
}
