/**
 * The verbs of `cover-catalogue keys`. Data goes to stdout, everything else to stderr. A raw key is
 * printed once, and stdout contains nothing else.
 */
import { ACCOUNT_VERBS } from './account-verbs.ts';
import type { Verb } from './arguments.ts';
import { LIST_VERBS } from './list-verbs.ts';
import { OWNER_VERBS } from './owner-verbs.ts';
import { REVIEW_VERBS } from './review-verbs.ts';
import { USAGE_VERBS } from './usage-verb.ts';

export const VERBS: Readonly<Record<string, Verb>> = {
  ...REVIEW_VERBS,
  ...OWNER_VERBS,
  ...LIST_VERBS,
  ...USAGE_VERBS,
  ...ACCOUNT_VERBS,
};
