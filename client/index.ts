/** What `cover-catalogue-client` exports. */
export { ApiError } from './api-error.ts';
export * from './client.ts';
export type * from './contract-types.ts';
export type { MatchOptions, MatchResult } from './match.ts';
