/**
 * Fetches the public keys of the site from its https address. jose caches them, and fetches them again
 * when they are older than ten minutes or when an assertion names a key that is not among them.
 */
import { createRemoteJWKSet, customFetch, type FetchImplementation, type RemoteJWKSet } from 'jose';
import type { Logger } from 'pino';
import { usableKeys } from '../../../program/environment/site-keys.ts';

const TIMEOUT_MS = 5_000;
/** How often assertions that name an unknown key may cause a fetch: once in this time. */
const COOLDOWN_MS = 30_000;
/** How long the keys are cached, so also how long a key that the site has withdrawn still works. */
const LONGEST_AGE_MS = 600_000;
/** How long no fetch is tried after a failed one. */
const PAUSE_MS = 5_000;

/** The keys cannot be fetched, so assertions cannot be checked and sign nobody in. */
export class SiteKeysUnreachable extends Error {
  override readonly name = 'SiteKeysUnreachable';
}

/** Starts the first fetch at once. Logs when fetching begins to fail, and when it works again. */
export function makeRemoteKeys(url: URL, log: Logger): RemoteJWKSet {
  // The query is left out, because it may contain a password.
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
  // Fetched now, so that a wrong address is logged at the start and not when somebody signs in.
  keys.reload().catch(() => {});
  return keys;
}

function reasonOf(error: unknown): string {
  const { message, cause }: Error = Object(error);
  const { code }: { code?: string } = Object(cause);
  if (error instanceof SyntaxError) return 'the answer is not JSON';
  return code === undefined ? message.replace(/^which /, 'it ') : `${message} (${code})`;
}
