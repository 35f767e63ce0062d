/**
 * The site of a proxy: what browsers see beside the API. Pages are made once for each generation; the explorer calls
 * the API; the account pages are forwarded to their own process.
 */
import { isWellFormedKey } from '../lib/format/api-key.ts';
import type { Environment, ValueChecks } from '../lib/program/environment/environment.ts';
import type { SiteHandler } from '../proxy/http/server.ts';
import type { SiteParts } from '../proxy/serve/workers/serving-thread.ts';
import { makeExplorer, makeVisitorLimits } from './explore/explorer.ts';
import { withForwarding } from './forward.ts';
import { makePageFinder, makePages } from './pages.ts';
import { makeSiteHandler } from './static/site-handler.ts';
import { makeStatus } from './status.ts';

export const SITE_VARIABLES = [
  'PUBLIC_URL',
  'ACCOUNT_URL',
  'EXPLORER_KEY',
  'SITE_NAME',
  'SITE_URL',
  'SITE_CONTACT',
  'SNAPSHOTS_DIR',
  // The guides mention it.
  'DEFAULT_RATE_LIMIT',
] as const;

export const SITE_CHECKS: ValueChecks<'EXPLORER_KEY'> = {
  EXPLORER_KEY(key) {
    if (key === '' || isWellFormedKey(key)) return;
    throw new Error('must be an API key, such as cck_…, exactly as it was issued.');
  },
};

/** What all serving threads make their site of: data that can be passed to another thread. */
export interface SiteData {
  readonly environment: Environment<(typeof SITE_VARIABLES)[number]>;
  /** The limits of visitors of the explorer, which all threads share. */
  readonly visitors: SharedArrayBuffer;
}

export function prepareSite(environment: SiteData['environment']): SiteData {
  return { environment, visitors: makeVisitorLimits().memory };
}

/** @throws Error when a file of the program is missing */
export function makeSite({ environment, visitors }: SiteData, parts: SiteParts): SiteHandler {
  const { PUBLIC_URL: publicUrl, ACCOUNT_URL: accountUrl, EXPLORER_KEY: explorerKey } = environment;
  const { SNAPSHOTS_DIR: snapshotsDir, DEFAULT_RATE_LIMIT: defaultLimit } = environment;
  const { current, keys, trustedProxies, log } = parts;
  const { SITE_NAME: name, SITE_URL: url, SITE_CONTACT: contact } = environment;
  const frame = { site: { name, url, contact }, hasExplorer: explorerKey !== '' };
  const pages = makePages({ publicUrl, defaultLimit, frame });
  const pageAt = makePageFinder(pages, parts);
  const explorer = {
    ...parts,
    frame,
    publicUrl,
    explorerKey,
    explorerLimit: () => keys.find(explorerKey)?.limit,
    visitors: makeVisitorLimits(visitors),
  };
  const others = [makeStatus({ snapshotsDir, current, frame })];
  if (frame.hasExplorer) others.push(makeExplorer(explorer));
  const site = makeSiteHandler({ frame, pageAt, others, keys, log });
  return withForwarding(site, { frame, accountUrl, trustedProxies, log });
}
