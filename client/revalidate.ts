/**
 * Keeps responses with their ETag, and asks the API whether they are still current. The least recently
 * used ones are dropped once all texts together exceed a number of characters. Texts are kept, not
 * objects, so that no caller can change what another one gets.
 */
import type { Send } from './send.ts';

interface Kept {
  readonly etag: string;
  readonly text: string;
}

/** @param mostCharacters of all kept texts together; with 0, nothing is kept */
export function makeRevalidating(send: Send, mostCharacters: number): Send {
  // A map iterates in the order of insertion, so its first entry is the least recently used one.
  const bodies = new Map<string, Kept>();
  let characters = 0;

  function remove(url: string): void {
    characters -= bodies.get(url)?.text.length ?? 0;
    bodies.delete(url);
  }

  function keep(url: string, body: Kept): void {
    remove(url);
    if (body.text.length > mostCharacters) return;
    bodies.set(url, body);
    characters += body.text.length;
    for (const oldest of bodies.keys()) {
      if (characters <= mostCharacters) return;
      remove(oldest);
    }
  }

  return async (request) => {
    const kept = bodies.get(request.url);
    if (kept !== undefined) request.headers.set('If-None-Match', kept.etag);
    const response = await send(request);
    const { headers, status } = response;
    // Also of a 304: an unread body, although it is empty, keeps its connection busy in some runtimes.
    const body = await response.text();
    const text = status === 304 && kept !== undefined ? kept.text : body;
    const etag = headers.get('etag');
    if (etag !== null) keep(request.url, { etag, text });
    return new Response(text, { headers });
  };
}
