/**
 * The page "Match my files": a form for the names of files, and for each name its game, its cover and other
 * candidates. Without scripts the form sends up to 50 names in its address. The script sends longer lists
 * in parts, and puts the rows of their pages together.
 */
import type { Game, MatchItem } from '../../client/contract-types.ts';
import { type Html, html } from '../../lib/pages/html.ts';
import { countOf } from '../../lib/pages/shown-values.ts';
import { MATCH, type MatchView, pathOf, searchPath } from './address.ts';
import { csvLine } from './csv.ts';
import { apiCall, coverImage, crumbs, explorerPage, type PageContext } from './page.ts';

const SMALL = { sizes: '56px', width: 56 };
/** What people read for each kind of match, and the class of its mark. */
const KINDS = {
  id: ['by its id', 'good'],
  exact: ['same title', 'good'],
  same: ['other spelling', 'good'],
  near: ['check this', 'wait'],
  chosen: ['chosen by you', 'good'],
  none: ['not found', 'bad'],
} as const;

/** What is known of a name, for programs. */
const COLUMNS = ['name', 'match', 'platform', 'slug', 'title', 'cover', 'candidates'] as const;

/** @param items undefined without names: then the page has only the form */
export function matchPage(
  view: MatchView,
  items: readonly MatchItem[] | undefined,
  context: PageContext,
): Html {
  return explorerPage(
    context.frame,
    'Match my files',
    html`${crumbs()}
<h1>Match my files</h1>
<p class="lead">Find the games and covers of a folder by the names of its files. Nothing but the names leaves your browser.</p>
${matchForm(view, context)}
<p class="faint" id="found" role="status">${items && summary(items)}</p>
<div id="results">
  ${
    items &&
    html`<p class="actions needs-script" data-copy-results>
    <button type="button" class="quiet small" value="json">Copy as JSON</button>
    <button type="button" class="quiet small" value="csv">Copy as CSV</button>
    <button type="button" class="quiet small" value="sh">Download fronts with curl</button>
  </p>
  <div class="table" tabindex="0" role="region" aria-label="Matches"><table data-csv="${csvLine(COLUMNS)}">
    <thead><tr><th scope="col">Cover</th><th scope="col">File</th><th scope="col">Game</th></tr></thead>
    <tbody id="matches">${items.map((item) => matchRow(item, view.platform, context.imageOrigin))}</tbody>
  </table></div>`
  }
  ${apiCall(context)}
</div>`,
  );
}

function matchForm({ platform, names, prefer }: MatchView, { generation }: PageContext): Html {
  return html`<form action="${MATCH}" data-match>
  <label for="platform">Platform</label>
  <select id="platform" name="platform" required>
    <option value="">Choose…</option>
    ${generation.index.platforms.map(
      ({ slug, name }) =>
        html`<option value="${slug}"${slug === platform && html` selected`}>${name}</option>`,
    )}
  </select>
  <label for="prefer">Regions, if a name has none</label>
  <input id="prefer" name="prefer" value="${prefer ?? ''}" placeholder="Europe, USA" autocomplete="off">
  <label for="names">Names of files, one on each line</label>
  <textarea id="names" name="names" rows="8" required spellcheck="false" placeholder="Name of a game (USA).zip" aria-describedby="names-hint">${names.join('\n')}</textarea>
  <p class="faint" id="names-hint"><span class="needs-script">Paste names, or choose a folder. The files stay where they are.</span><noscript>At most 50 names at once.</noscript></p>
  <p class="actions"><button>Match</button><label class="button quiet needs-script">Choose a folder<input type="file" class="unseen" webkitdirectory multiple data-folder></label></p>
</form>`;
}

function summary(items: readonly MatchItem[]): string {
  const found = items.filter(({ game }) => game !== null).length;
  return `${countOf(found, 'game')} found for ${countOf(items.length, 'name')}`;
}

/** A name as it is, or with a candidate that the visitor has chosen. */
type MatchRow = Omit<MatchItem, 'match'> & { readonly match: MatchItem['match'] | 'chosen' };

/**
 * The row of a name. For each candidate it contains the row that replaces it when the candidate is chosen: a
 * script never makes markup.
 */
function matchRow(row: MatchRow, platform: string | undefined, origin: string | undefined): Html {
  const { name, read, match, game, candidates } = row;
  const [label, kind] = KINDS[match ?? 'none'];
  const image = game?.cover ? coverImage(game.cover, { ...SMALL, origin }) : undefined;
  const others = candidates.map((each) => each.game);
  // What the script copies.
  const result: Record<(typeof COLUMNS)[number], unknown> = {
    name,
    match,
    platform: game?.platform.slug ?? null,
    slug: game?.slug ?? null,
    title: game?.title ?? null,
    cover: game?.cover?.files[0]?.url ?? null,
    candidates: others.map(({ platform, slug }) => `${platform.slug}/${slug}`),
  };
  const line = csvLine(COLUMNS.map((name) => result[name]));
  /** What tells games with one title apart. */
  const slugOf = ({ title, slug }: Game) =>
    [...(game ? [game] : []), ...others].filter((each) => each.title === title).length > 1 &&
    html` <span class="faint">${slug}</span>`;
  const choose = (other: Game) => {
    if (match === 'chosen') return undefined;
    const chosen: MatchRow = { ...row, match: 'chosen', game: other };
    return html` <button type="button" class="quiet small needs-script" data-choose>Choose<span class="unseen"> ${other.title}</span></button><template><table><tbody>${matchRow(chosen, platform, origin)}</tbody></table></template>`;
  };
  const search = searchPath({ platform, q: (read?.title ?? name).slice(0, 100) });
  return html`<tr data-result="${JSON.stringify(result)}" data-csv="${line}">
  <td>${image}</td>
  <th scope="row">${name}</th>
  <td>${game !== null && gameLink(game)} <span class="state ${kind}">${label}</span>
    ${game === null && html`<a href="${search}" rel="nofollow">Search for it</a>`}
    ${others.length > 0 && html`<ul class="faint" aria-label="Candidates">${others.map((other) => html`<li>${gameLink(other)}${slugOf(other)}${choose(other)}</li>`)}</ul>`}</td>
</tr>`;
}

function gameLink({ platform, slug, title, release_year: year }: Game): Html {
  return html`<a href="${pathOf(platform.slug, slug)}">${title}</a>${year !== null && ` (${year})`}`;
}
