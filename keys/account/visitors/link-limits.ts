/**
 * Limits how many sign-in links a client may request, for any mailboxes. Requests count before anything
 * is looked up, so the limit tells nobody whether a mailbox has an account. A restart begins with empty
 * windows.
 */
import { LRUCache } from 'lru-cache';

const WINDOW_MS = 15 * 60_000;
const MOST_OF_CLIENT = 20;
/** Beyond this, the client that was seen the longest time ago is forgotten. */
const MOST_CLIENTS = 20_000;

/**
 * Counts a request.
 * @param client an IPv4 address, or the /64 of an IPv6 one
 * @param now in milliseconds
 * @returns undefined if a link may be created; otherwise, the seconds until the next one may
 */
export type LinkLimits = (client: string, now: number) => number | undefined;

export function makeLinkLimits(): LinkLimits {
  /** The times of the requests that were admitted. */
  const windows = new LRUCache<string, number[]>({ max: MOST_CLIENTS });
  return (client, now) => {
    const times = (windows.get(client) ?? []).filter((time) => time > now - WINDOW_MS);
    windows.set(client, times);
    if (times.length >= MOST_OF_CLIENT) return Math.ceil((times[0] + WINDOW_MS - now) / 1000);
    times.push(now);
    return undefined;
  };
}
