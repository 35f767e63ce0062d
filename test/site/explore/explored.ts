/**
 * An explorer to visit: the sample catalogue with drawn covers, a game whose every field is hostile, the
 * server of the images, and the proxy.
 */

import type { Catalogue } from '#demo/catalogue/load.ts';
import { sampleCatalogue } from '#demo/catalogue/sample.ts';
import { drawCovers, serveImages } from '#demo/covers.ts';
import { makeSqlite } from '#test/catalogue/snapshots.ts';
import { type RunningProxy, startProxy, type TestKey, writeKeys } from '#test/support/product.ts';
import { newSnapshots, runGenerator } from '#test/support/wholeness.ts';

/** It would do something if a page did not escape it, or left it without quotes. */
export const MARKUP = `</title></script><script>alert(1)</script><img src=x onerror="alert(2)">' "&\u202e\${7*7}`;
export const HOSTILE = { platform: 'hostile', slug: 'hostile-game', cover: 900_001 };

export interface Explored {
  readonly proxy: RunningProxy;
  readonly snapshotsDir: string;
  /** The origin of the images. */
  readonly images: string;
}

/** @param explorerKey the value of EXPLORER_KEY */
export async function startExplorer(
  keys: readonly TestKey[],
  explorerKey: string,
): Promise<Explored> {
  const { catalogue, images } = drawCovers(sampleCatalogue());
  const origin = `http://127.0.0.1:${await serveImages(images, '127.0.0.1')}`;
  const snapshotsDir = newSnapshots();
  const url = await makeSqlite(withHostileGame(catalogue));
  const { code, stderr } = await runGenerator(url, snapshotsDir, [], { FILES_URL: origin });
  if (code !== 0) throw new Error(`The generator ended with ${code}:\n${stderr}`);
  writeKeys(snapshotsDir, keys);
  return { proxy: await startAgain(snapshotsDir, explorerKey), snapshotsDir, images: origin };
}

/** Another proxy for the same snapshots. */
export function startAgain(snapshotsDir: string, explorerKey: string): Promise<RunningProxy> {
  return startProxy(snapshotsDir, {
    EXPLORER_KEY: explorerKey,
    PUBLIC_URL: 'https://api.covers.example',
    ADDRESS_RATE_LIMIT: '100000',
    // Visitors of the tests name their addresses.
    TRUSTED_PROXIES: '127.0.0.1',
  });
}

function withHostileGame(catalogue: Catalogue): Catalogue {
  const { platform, slug, cover } = HOSTILE;
  const id = 900_000;
  const texts = [`${MARKUP}, RPG`, MARKUP, MARKUP];
  // A picture that exists, so that the page has one to show.
  const picture = 'snes/chrono-trigger/50001-thumb.svg';
  const file = [id, cover, MARKUP, MARKUP, 250, 179, 1000, picture];
  const unmeasured = [id + 1, cover, null, null, null, null, null, '"><script>alert(3)</script>'];
  return {
    ...catalogue,
    platforms: [...catalogue.platforms, [id, platform, MARKUP]],
    games: [...catalogue.games, [id, id, slug, MARKUP, 1999, MARKUP, ...texts]],
    covers: [...catalogue.covers, [cover, id, MARKUP, MARKUP, 'approved', '2020-01-01 00:00:00']],
    coverFiles: [...catalogue.coverFiles, file, unmeasured],
  };
}
