/** What `cover-catalogue-client` exports. */
export { ApiError } from './api-error.ts';
export {
  type ApiResponse,
  type Changes,
  type Client,
  type ClientOptions,
  createClient,
  type FileOptions,
} from './client.ts';
export type {
  ApiPath,
  Body,
  Change,
  Cover,
  CoverFile,
  Game,
  Item,
  Manifest,
  OptionsArgument,
  PagedPath,
  Platform,
  RequestOptions,
  Stats,
} from './contract-types.ts';
