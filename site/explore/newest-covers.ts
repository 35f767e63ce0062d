/** The newest covers of a generation, one of each game, for the start page. */
import type { Cover } from '../../client/contract-types.ts';
import { type Html, html } from '../../lib/pages/html.ts';
import type { Generation } from '../../proxy/snapshot/generation.ts';
import { parseRecords } from '../docs/read-api.ts';
import { pathOf } from './address.ts';
import { card, coverImage, originOf } from './page.ts';

const MOST = 6;
const SMALL = { sizes: '(max-width: 40rem) 45vw, 11rem', width: 176, isFirst: true };

/** @param hasExplorer whether the covers link to their games there */
export function newestCovers(generation: Generation | undefined, hasExplorer: boolean): Html {
  const origin = originOf(generation);
  const body = generation?.recentCovers.bytes.toString() ?? '{"data":[]}';
  const { data } = parseRecords<{ readonly data: readonly Cover[] }>(body);
  const fronts = data.filter(({ type }) => type?.toLowerCase() === 'front');
  const byGame = new Map<string, Html>();
  for (const cover of fronts.length > 0 ? fronts : data) {
    const { slug, title, platform } = cover.game;
    const path = pathOf(platform.slug, slug);
    if (byGame.has(path) || byGame.size === MOST) continue;
    const image = coverImage(cover, { ...SMALL, origin });
    const link = hasExplorer ? path : undefined;
    byGame.set(path, card(link, image, 'No preview', title, platform.name));
  }
  if (byGame.size === 0) return html`<p>No covers yet.</p>`;
  return html`<ul class="grid">${[...byGame.values()]}</ul>`;
}
