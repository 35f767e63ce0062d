/**
 * The site of a proxy: what browsers see beside the API. Fixed pages are made once; the explorer calls the
 * API; the account pages are forwarded to their own process.
 */
import type { Environment } from '../lib/program/environment/environment.ts';
import type { SiteHandler } from '../proxy/http/server.ts';
import type { Site, SiteParts } from '../proxy/serve/open-site.ts';
import { makeExplorer, makeVisitorLimits } from './explore/explorer.ts';
import { makeFilledPages } from './filled-pages.ts';
import { withForwarding } from './forward.ts';
import { makePages, type SitePages } from './static/pages.ts';
import { makeSiteHandler } from './static/site-handler.ts';
import { makeStatus } from './status.ts';

export const SITE_VARIABLES = [
  'PUBLIC_URL',
  'ACCOUNT_URL',
  'EXPLORER_KEY',
  'SNAPSHOTS_DIR',
  // The guides mention it.
  'DEFAULT_RATE_LIMIT',
] as const;

interface SiteData {
  readonly publicUrl: string;
  /** Where the account pages are; '' if there are none. */
  readonly accountUrl: string;
  readonly explorerKey: string;
  readonly snapshotsDir: string;
  readonly pages: SitePages;
  /** The limits of visitors of the explorer, which all threads share. */
  readonly visitors: SharedArrayBuffer;
}

/** @throws Error when a file of the program is missing */
export function prepareSite(environment: Environment<(typeof SITE_VARIABLES)[number]>): Site {
  const { PUBLIC_URL: publicUrl, ACCOUNT_URL: accountUrl, EXPLORER_KEY: explorerKey } = environment;
  const facts = { publicUrl, defaultLimit: environment.DEFAULT_RATE_LIMIT };
  const data: SiteData = {
    publicUrl,
    accountUrl,
    explorerKey,
    snapshotsDir: environment.SNAPSHOTS_DIR,
    pages: makePages({ ...facts, hasExplorer: explorerKey !== '' }),
    visitors: makeVisitorLimits().memory,
  };
  return { module: import.meta.url, data };
}

export function makeSite(
  { publicUrl, accountUrl, explorerKey, snapshotsDir, pages, visitors }: SiteData,
  parts: SiteParts,
): SiteHandler {
  const { current, keys, trustedProxies, log } = parts;
  const hasExplorer = explorerKey !== '';
  const pageAt = makeFilledPages(pages, parts, hasExplorer);
  const explorer = {
    ...parts,
    publicUrl,
    explorerKey,
    explorerLimit: () => keys.find(explorerKey)?.limit,
    visitors: makeVisitorLimits(visitors),
  };
  const others = [makeStatus({ snapshotsDir, current, hasExplorer })];
  if (hasExplorer) others.push(makeExplorer(explorer));
  const site = makeSiteHandler({ pageAt, others, keys, log });
  return withForwarding(site, { accountUrl, trustedProxies, log });
}
