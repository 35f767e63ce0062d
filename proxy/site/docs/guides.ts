/**
 * The guides: Markdown files, in the order of the list of pages. In them, `{{api}}` stands for the address
 * of the API, and `{{defaultLimit}}` for the limit of a key. A test runs every example.
 */
import { readFileSync } from 'node:fs';
import { shownNumber } from '../../../pages/shown-values.ts';
import { type Article, renderArticle } from './markdown.ts';

/** The name of a guide, in its file and its address, and what it is about. */
export const GUIDES = {
  'first-call': 'From nothing to a game with its cover in three steps',
  keys: 'How to send a key, replace it and keep it secret',
  paging: 'Read a long list page by page, or many records at once',
  search: 'Find games by title, with filters and spelling errors',
  limits: 'How many requests you have, and what to do after the last',
  caching: 'Ask whether a response has changed instead of fetching it again',
  errors: 'What each status means, and what to do about it',
  crawling: 'Read the whole catalogue from one snapshot, or copy its files',
  changes: 'Keep a copy current with what is new, different or gone',
} as const;
export type GuideName = keyof typeof GUIDES;

export interface Guide extends Article {
  readonly path: string;
  /** What it is about, in one sentence. */
  readonly about: string;
}

/** What the guides say about this installation. */
export interface GuideFacts {
  /** The address of the API, with the base path. */
  readonly api: string;
  /** The limit of a key for which no other was set, in requests per minute. */
  readonly defaultLimit: number;
}

/** @throws Error if a file is missing or does not begin with a title */
export function readGuides(facts: GuideFacts): Guide[] {
  return Object.entries(GUIDES).map(([name, about]) => ({
    ...renderArticle(guideText(name as GuideName, facts), { idPrefix: name }),
    path: `/docs/${name}`,
    about,
  }));
}

/** The Markdown of a guide. */
export function guideText(name: GuideName, { api, defaultLimit }: GuideFacts): string {
  return readFileSync(new URL(`./guides/${name}.md`, import.meta.url), 'utf8')
    .replaceAll('{{api}}', api)
    .replaceAll('{{defaultLimit}}', shownNumber(defaultLimit));
}
