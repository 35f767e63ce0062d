/** Refuses requests of blocked addresses to paths outside the base, such as the account pages. */
import type { SiteHandler } from '../http/dispatch.ts';
import { BLOCKED_TEXT, type BlockedAddresses } from '../refusals/blocked-addresses.ts';
import { prepareSiteError, refuse } from './error-page.ts';

const FORBIDDEN = prepareSiteError({
  status: 403,
  error: BLOCKED_TEXT,
  title: 'This address is blocked',
  text: 'The operator of this site has blocked the address that you come from.',
});

export function withBlocking(site: SiteHandler, { isBlocked }: BlockedAddresses): SiteHandler {
  return (request, response, path) => {
    const forwarded = request.headers['x-forwarded-for'];
    const forwardedFor = Array.isArray(forwarded) ? forwarded.join(', ') : forwarded;
    if (isBlocked(request, forwardedFor)) refuse(request, response, FORBIDDEN);
    else site(request, response, path);
  };
}
