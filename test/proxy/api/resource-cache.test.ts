/** The cache of resources keeps those of targets that are worth it: which they are, and what it keeps of them. */
import { expect, test } from 'vitest';
import { makeFilter, makeResourceCache } from '#proxy/api/resource-cache.ts';
import { makeResource, respond } from '#proxy/http/resource.ts';

test('a resource is kept with the codings that are made of the one to send', async () => {
  const cache = makeResourceCache();
  const target = '/games/snes/chrono-trigger';
  expect(cache.find('1', target)).toBe('new');
  expect(cache.find('1', target)).toBe('repeated');
  const kind = { ok: '', notModified: '' };
  // A slice, as bodies are that were read together.
  const body = Buffer.alloc(4_000, 'a').subarray(1_000);
  const resource = makeResource({ kind, hash: 'ab', headers: '', body });
  const sent = cache.add('1', target, { route: 'game', resource });
  const response = respond(sent, { acceptEncoding: 'gzip', ifNoneMatch: undefined });
  expect(response).toBeInstanceOf(Promise);
  const kept = cache.find('1', target);
  if (typeof kept === 'string') throw new Error(kept);
  const compressed = await response;
  expect(respond(kept.resource, { acceptEncoding: 'gzip', ifNoneMatch: undefined })).toBe(
    compressed,
  );
});

test('a target is known from its second request on', () => {
  const isKnown = makeFilter();
  expect(isKnown('/games/snes/chrono-trigger')).toBe(false);
  expect(isKnown('/games/snes/chrono-trigger')).toBe(true);
  expect(isKnown('/games/snes/chrono-trigger')).toBe(true);
});

test('hardly any of many different targets is mistaken for an earlier one', () => {
  const isKnown = makeFilter();
  let known = 0;
  for (let i = 0; i < 200_000; i++) if (isKnown(`/games/snes/game-${i}`)) known++;
  expect(known).toBeLessThan(20);
});

test('a target that is requested regularly is remembered among many others', () => {
  const isKnown = makeFilter();
  isKnown('/stats');
  let forgotten = 0;
  for (let i = 0; i < 50_000; i++) {
    isKnown(`/games/snes/game-${i}`);
    if (i % 10 === 0 && !isKnown('/stats')) forgotten++;
  }
  expect(forgotten).toBeLessThan(10);
});
