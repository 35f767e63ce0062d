/** Types of requests and responses, from those that are generated of openapi.yaml (`contract.ts`). */
import type { components, paths } from './contract.ts';

type Schemas = components['schemas'];
export type Platform = Schemas['Platform'];
export type ListedPlatform = Schemas['ListedPlatform'];
export type Game = Schemas['Game'];
export type Cover = Schemas['Cover'];
export type CoverFile = Schemas['CoverFile'];
export type Stats = Schemas['Stats'];
export type Change = Schemas['Change'];
export type Manifest = Schemas['Manifest'];

type Responses<P extends keyof paths> = paths[P]['get']['responses'][200]['content'];

/** The paths of the API, such as `/platforms/{slug}`, except those of files. */
export type ApiPath = {
  [P in keyof paths]: Responses<P> extends { 'application/octet-stream': unknown } ? never : P;
}[keyof paths];

/** The body of a successful response. */
export type Body<P extends ApiPath> =
  Responses<P> extends { 'application/json': infer B } ? B : never;

/** The parameters of a path, as `path` and `query`, and a signal that aborts the request. */
export type RequestOptions<P extends ApiPath> = Pick<
  paths[P]['get']['parameters'],
  'path' | 'query'
> & { readonly signal?: AbortSignal | undefined };

/** The options of a request as the last argument, which may be left out if the path needs none. */
export type OptionsArgument<P extends ApiPath> = paths[P]['get']['parameters'] extends
  | { path: unknown }
  | { query: unknown }
  ? [options: RequestOptions<P>]
  : [options?: RequestOptions<P>];

/** The paths of lists with pages. */
export type PagedPath = {
  [P in ApiPath]: Body<P> extends { total_pages: number } ? P : never;
}[ApiPath];

/** An item of a list with pages. */
export type Item<P extends PagedPath> = Body<P> extends { data: (infer I)[] } ? I : never;

/** What a name of a file means. */
export type MatchItem = Body<'/match'>['data'][number];

/** What chooses the games of names, and what they contain. */
export type MatchQuery = Omit<NonNullable<RequestOptions<'/match'>['query']>, 'names' | 'ids'>;
