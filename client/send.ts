/**
 * Sends requests with the key. It waits, and repeats a request that the API asks to send later.
 * Invariant: it returns only successes and 304; all else is thrown.
 */
import { errorOf, retryAfterOf } from './api-error.ts';

export interface SendOptions {
  /** Sent as `Authorization: Bearer`. Leave it out if something else adds it, such as your server. */
  readonly key?: string | undefined;
  /**
   * How long one call may wait in total when the API asks to try again later (429 and 503), in seconds.
   * Past it, the error is thrown. By default 120; with 0 it never waits.
   */
  readonly longestWait?: number | undefined;
  /** Is called before each wait, to tell who waits for the response. */
  readonly onWait?: ((seconds: number) => void) | undefined;
  /** Replaces the global `fetch`. */
  readonly fetch?: ((request: Request) => Promise<Response>) | undefined;
}

export type Send = (request: Request) => Promise<Response>;

/** The statuses after which the same request may succeed later. */
const TRY_LATER = [429, 503];
/** In seconds: an API that says "at once" each time is asked a bounded number of times. */
const SHORTEST_WAIT = 1;

/** @returns a function that throws an `ApiError`, or what `fetch` throws, such as an `AbortError` */
export function makeSend(options: SendOptions): Send {
  const { key, longestWait = 120, onWait } = options;
  const fetchOnce = options.fetch ?? ((request) => fetch(request));

  return async (request) => {
    if (key !== undefined) request.headers.set('Authorization', `Bearer ${key}`);
    for (let waited = 0; ; ) {
      const response = await fetchOnce(request);
      if (response.ok || response.status === 304) return response;
      const asked = TRY_LATER.includes(response.status) ? retryAfterOf(response) : undefined;
      const seconds = Math.max(asked ?? 0, SHORTEST_WAIT);
      if (asked === undefined || waited + seconds > longestWait) {
        throw await errorOf(response, request.url);
      }
      // An unread body would keep its connection busy.
      await response.body?.cancel();
      onWait?.(seconds);
      await wait(seconds, request.signal);
      waited += seconds;
    }
  };
}

/**
 * @param signal some runtimes have none at a request
 * @throws the reason of the signal, as soon as it is aborted
 */
function wait(seconds: number, signal: AbortSignal | null | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, seconds * 1000);
    if (signal?.aborted) stop();
    else signal?.addEventListener('abort', stop, { once: true });
  });
}
