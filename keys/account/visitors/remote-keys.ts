/**
 * The public keys of the site from its https address, in jose's cache. They are fetched when they are
 * needed, again after ten minutes, and when an assertion names a key that is not among them.
 */
import { createRemoteJWKSet, customFetch, type FetchImplementation, type RemoteJWKSet } from 'jose';
import type { Logger } from 'pino';
import { usableKeys } from '../../../program/environment/site-keys.ts';

const TIMEOUT_MS = 5_000;
/** Assertions that name an unknown key cause at most one fetch in this time. */
const COOLDOWN_MS = 30_000;
/** After this, keys that the site has withdrawn no longer sign anybody in. */
const LONGEST_AGE_MS = 600_000;
/** After a failed fetch the next one waits for this long. */
const PAUSE_MS = 5_000;

/** The keys cannot be fetched: an assertion cannot be checked, so it signs nobody in. */
export class SiteKeysUnreachable extends Error {
  override readonly name = 'SiteKeysUnreachable';
}

/** Makes the first fetch at once. Logs when fetching begins to fail, and when it works again. */
export function makeRemoteKeys(url: URL, log: Logger): RemoteJWKSet {
  // Without the query, which may hold a password.
  const address = url.origin + url.pathname;
  let failure: { readonly at: number; readonly error: SiteKeysUnreachable } | undefined;

  const fetchKeys: FetchImplementation = async (href, options) => {
    if (failure !== undefined && performance.now() - failure.at < PAUSE_MS) throw failure.error;
    try {
      const response = await fetch(href, options);
      if (response.status !== 200) throw new Error(`which answers with ${response.status}`);
      const keys = usableKeys(await response.json());
      if (failure !== undefined) log.info({ address }, 'the keys of the site can be fetched again');
      failure = undefined;
      return Response.json(keys);
    } catch (cause) {
      const message = `The keys of the site cannot be fetched from ${address}: ${reasonOf(cause)}.`;
      if (failure === undefined) log.error(message);
      failure = { at: performance.now(), error: new SiteKeysUnreachable(message, { cause }) };
      throw failure.error;
    }
  };

  const keys = createRemoteJWKSet(url, {
    timeoutDuration: TIMEOUT_MS,
    cooldownDuration: COOLDOWN_MS,
    cacheMaxAge: LONGEST_AGE_MS,
    [customFetch]: fetchKeys,
  });
  // So a wrong address is logged at the start, not when somebody signs in.
  keys.reload().catch(() => {});
  return keys;
}

function reasonOf(error: unknown): string {
  const { message, cause }: Error = Object(error);
  const { code }: { code?: string } = Object(cause);
  if (error instanceof SyntaxError) return 'the answer is not JSON';
  return code === undefined ? message.replace(/^which /, 'it ') : `${message} (${code})`;
}
