/**
 * Shows a new key once, as the response to the form that created it. The response waits until the API
 * accepts the key, so that the command on the page works at once.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Context } from 'hono';
import { hashKey } from '../../../format/api-key.ts';
import { keyShownPage, type ShownKey } from '../pages/key-shown.ts';
import { sendPage } from './replies.ts';
import type { Site } from './site.ts';

/** How to wait until the API accepts a key. */
export interface ApiWaits {
  /** How long a change of a key takes at most to reach the API. */
  readonly longestMs: number;
  /** The visitor waits, too, while the API does not answer. */
  readonly longestReplyMs: number;
  /** Resolves when the API is to be asked again. */
  pause(): Promise<unknown>;
}

export const API_WAITS: ApiWaits = {
  longestMs: 5_000,
  longestReplyMs: 1_000,
  pause: () => pause(100),
};

export async function showNewKey(
  c: Context,
  { publicUrl, apiWaits }: Pick<Site, 'publicUrl' | 'apiWaits'>,
  shown: Omit<ShownKey, 'publicUrl' | 'isAccepted'>,
): Promise<Response> {
  const isAccepted = await waitUntilAccepted(publicUrl, shown.key, apiWaits);
  return sendPage(c, 200, keyShownPage({ ...shown, publicUrl, isAccepted }));
}

/**
 * Asks the proxy at the address that clients use, so that the answer is true for them. Only the hash of
 * the key is sent.
 * @returns false if the API does not accept the key in time, or cannot be asked
 */
async function waitUntilAccepted(
  publicUrl: string,
  key: string,
  waits: ApiWaits,
): Promise<boolean> {
  const address = `${publicUrl}/key-status/${hashKey(key)}`;
  const end = performance.now() + waits.longestMs;
  do {
    const works = await ask(address, waits.longestReplyMs);
    if (works !== false) return works === true;
    await waits.pause();
  } while (performance.now() < end);
  return false;
}

/** @returns undefined if there is no answer */
async function ask(address: string, longestMs: number): Promise<unknown> {
  try {
    const signal = AbortSignal.timeout(longestMs);
    const response = await fetch(address, { signal, redirect: 'error' });
    const { works }: { works?: unknown } = Object(await response.json());
    return works;
  } catch {
    // Such as a proxy that is not running, or an address that this machine cannot reach.
    return undefined;
  }
}
