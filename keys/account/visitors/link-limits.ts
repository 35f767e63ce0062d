/**
 * Limits requests for sign-in links, by the address of the client and by the mailbox. They count before
 * anything is looked up, so they tell nobody whether a mailbox has an account. A restart begins with empty
 * windows.
 */

const WINDOW_MS = 15 * 60_000;
/** How many links one client may request, for any mailboxes. */
export const MOST_OF_CLIENT = 20;
/** How many links may be requested for one mailbox, by any clients. */
export const MOST_FOR_MAILBOX = 5;
/** Beyond this, the client or mailbox that was named the longest time ago is forgotten. */
const MOST_NAMES = 20_000;

/** Who has requested too many links, and when the next one is possible. */
export interface LinkRefusal {
  readonly of: 'client' | 'mailbox';
  readonly seconds: number;
}

export interface LinkLimits {
  /**
   * Counts a request.
   * @param client an IPv4 address, or the /64 of an IPv6 one
   * @returns undefined if a link may be created
   */
  take(client: string, mailbox: string, now: number): LinkRefusal | undefined;
}

export function makeLinkLimits(): LinkLimits {
  const clients = makeWindows(MOST_OF_CLIENT);
  const mailboxes = makeWindows(MOST_FOR_MAILBOX);
  return {
    take(client, mailbox, now) {
      const ofClient = clients(client, now);
      if (ofClient !== undefined) return { of: 'client', seconds: ofClient };
      const forMailbox = mailboxes(mailbox.toLowerCase(), now);
      return forMailbox === undefined ? undefined : { of: 'mailbox', seconds: forMailbox };
    },
  };
}

/** @returns a function that counts a request; it returns the seconds to wait if it refuses */
function makeWindows(most: number): (name: string, now: number) => number | undefined {
  /** The times of the requests that were admitted; the names that were used last are at the end. */
  const windows = new Map<string, number[]>();
  return (name, now) => {
    const times = (windows.get(name) ?? []).filter((time) => time > now - WINDOW_MS);
    windows.delete(name);
    windows.set(name, times);
    for (const oldest of windows.keys()) {
      if (windows.size <= MOST_NAMES) break;
      windows.delete(oldest);
    }
    if (times.length >= most) return Math.ceil((times[0] + WINDOW_MS - now) / 1000);
    times.push(now);
    return undefined;
  };
}
