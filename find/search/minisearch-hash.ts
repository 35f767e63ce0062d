/** The hash of the MiniSearch options and the rules for words of this program. */
import { hash } from 'node:crypto';
import { minisearchRules } from './minisearch-options.ts';

/** The SHA-256, in hex. */
export const MINISEARCH_OPTIONS_HASH: string = hash(
  'sha256',
  minisearchRules(process.versions.unicode),
);
