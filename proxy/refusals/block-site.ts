/** Refuses requests of blocked addresses to paths outside the base, such as the account pages. */
import type { SiteHandler } from '../http/dispatch.ts';
import { prepareError } from '../http/message/response.ts';
import { toResponder } from '../http/node-response.ts';
import type { BlockedAddresses } from './blocked-addresses.ts';

export const BLOCKED_TEXT = 'This address is blocked';
const FORBIDDEN = prepareError(403, BLOCKED_TEXT);

export function withBlocking(site: SiteHandler, { isBlocked }: BlockedAddresses): SiteHandler {
  return (request, response, path) => {
    const forwarded = request.headers['x-forwarded-for'];
    const forwardedFor = Array.isArray(forwarded) ? forwarded.join(', ') : forwarded;
    if (isBlocked(request, forwardedFor)) toResponder(response).send(FORBIDDEN, [], true);
    else site(request, response, path);
  };
}
