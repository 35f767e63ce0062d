/** The start page: search, the newest covers, a first call with its response, and the way to a key. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Cover } from '../client/contract-types.ts';
import { isFrontType } from '../find/names/fronts.ts';
import { codeBlock, codeSamples, responseBlock, variables } from '../lib/pages/code-block.ts';
import { addressOf, callSamples } from '../lib/pages/files/call-samples.js';
import { type Html, html } from '../lib/pages/html.ts';
import { renderPage, type SiteFrame } from '../lib/pages/layout.ts';
import { countOf } from '../lib/pages/shown-values.ts';
import type { Generation } from '../proxy/snapshot/generation.ts';
import { parseRecords, type Shown } from './docs/examples.ts';
import { pathOf } from './explore/address.ts';
import { card, gameImage, originOf } from './explore/page.ts';

const EXPLORER = html`<form class="inline" role="search" action="/explore">
            <label class="unseen" for="q">Search games by title</label>
            <input id="q" name="q" type="search" maxlength="100" placeholder="Search the covers" autocomplete="off">
            <button>Search</button>
          </form>
          <p class="actions"><a class="button" href="/explore">Explore</a> <a class="button quiet" href="/match">Match my files</a></p>`;

/** @param api the address of the API, with the base path */
export async function startPage(
  api: string,
  frame: SiteFrame,
  { generation, examples, responseTo }: Shown,
): Promise<Html> {
  const { hasExplorer } = frame;
  const call = {
    path: '/games/{platformSlug}/{gameSlug}',
    pathValues: { platformSlug: examples.platform, gameSlug: examples.game },
  };
  const samples = codeSamples({ id: 'call', name: 'Get a game' }, callSamples(call));
  const counts = countsOf(generation);
  const newest = newestCovers(generation, hasExplorer);
  await nextTurn();
  const response = await responseTo(addressOf(call, ''));
  await nextTurn();
  return renderPage({
    title: undefined,
    description:
      'The covers of video games, to look at, and as JSON for scripts, tools and web pages.',
    path: '/',
    ...frame,
    width: 'wide',
    styles: ['/explore.css'],
    body: html`<div class="columns hero">
        <div>
          <h1>Video-game covers, as JSON</h1>
          <p class="lead">${counts}. Look them up from a script, a tool or a web page.</p>
          ${hasExplorer && EXPLORER}
        </div>
        <section aria-labelledby="newest"><h2 id="newest">Newest covers</h2>${newest}</section>
      </div>
      <section class="ruled" aria-labelledby="first-call">
        <h2 id="first-call">A first call</h2>
        <div class="columns">
          <ol>
            <li><a href="/account/api-keys">Request an API key</a> and say what you are building.</li>
            <li>In your terminal, set the address and your key:
              ${codeBlock({ id: 'variables', name: 'Variables', text: variables(api, 'cck_…') })}</li>
            <li>Call the API. More is in the <a href="/docs">docs</a>, and in the <a href="/openapi.json">OpenAPI document</a> for tools.
              ${samples}</li>
          </ol>
          ${responseBlock('call', response)}
        </div>
      </section>`,
  });
}

function countsOf(generation: Generation | undefined): string {
  if (generation === undefined) return 'The catalogue is being prepared';
  const { platforms, games, covers } = generation.manifest.counts;
  return `${countOf(covers, 'cover')} of ${countOf(games, 'game')} on ${countOf(platforms, 'platform')}`;
}

const MOST_NEWEST = 6;
const SMALL = { sizes: '(max-width: 40rem) 45vw, 11rem', width: 176, isFirst: true };

/** The newest covers, one of each game. @param hasExplorer whether the covers link to their games there */
function newestCovers(generation: Generation | undefined, hasExplorer: boolean): Html {
  const origin = originOf(generation);
  const body = generation?.recentCovers.bytes.toString() ?? '{"data":[]}';
  const { data } = parseRecords<{ readonly data: readonly Cover[] }>(body);
  const frontTypes = generation?.frontTypes ?? [];
  // Fronts first, although others may be newer; and at the end those without files.
  const order = ({ type, files }: Cover) =>
    files.length === 0 ? 2 : isFrontType(frontTypes, type) ? 0 : 1;
  const covers = data.toSorted((a, b) => order(a) - order(b));
  const byGame = new Map<string, Html>();
  for (const cover of covers) {
    const { slug, title, platform } = cover.game;
    const path = pathOf(platform.slug, slug);
    if (byGame.has(path) || byGame.size === MOST_NEWEST) continue;
    const image = gameImage(cover, { ...SMALL, origin, frontTypes });
    const link = hasExplorer ? path : undefined;
    byGame.set(path, card(link, image, 'No preview', title, platform.name));
  }
  if (byGame.size === 0) return html`<p>No covers yet.</p>`;
  return html`<ul class="grid">${[...byGame.values()]}</ul>`;
}
