/**
 * What a key has used, as a chart with a bar for each day, and as a table. The chart is SVG within the
 * page: it needs no script and no styles of its own, which the content security policy would forbid.
 */
import type { Usage } from '../../../lib/format/key-usage-file.ts';
import { type Html, html } from '../../../lib/pages/html.ts';
import { countOf, dayElement, shownNumber } from '../../../lib/pages/shown-values.ts';
import { boundsOf, type DayOfUse, totalOf } from '../../lifecycle/key-usage.ts';

/** How many days the chart shows. */
export const CHART_DAYS = 30;
const DAY_MS = 86_400_000;
// In the units of the chart, which is scaled to the width of the page.
const BAR = 8;
const STEP = 10;
const HEIGHT = 60;

/** @returns undefined if the key was not used on these days */
export function usageChart(
  used: readonly DayOfUse[],
  { keyId, now }: { readonly keyId: number; readonly now: Date },
): Html | undefined {
  if (used.length === 0) return undefined;
  const total = totalOf(used);
  const heading = `${countOf(allOf(total), 'request')} in the last ${CHART_DAYS} days${overOf(total)}`;
  return html`<figure class="usage">
          <figcaption id="usage-${keyId}">${heading}</figcaption>
          ${chart(used, keyId, now)}
          <details>
            <summary>Day by day<span class="unseen">, for key ${keyId}</span></summary>
            ${table(used)}
          </details>
          </figure>`;
}

/** All requests, whether they were admitted or not. */
function allOf({ requests, refused }: Usage): number {
  return requests + refused;
}

function overOf({ refused }: Usage): string {
  return refused === 0 ? '' : `, ${shownNumber(refused)} of them over the limit`;
}

function chart(used: readonly DayOfUse[], keyId: number, now: Date): Html {
  const highest = Math.max(1, ...used.map(allOf));
  const [first, last] = boundsOf({ days: CHART_DAYS, now });
  const xOf = ({ day }: DayOfUse) => ((Date.parse(day) - Date.parse(first)) / DAY_MS) * STEP;
  const width = CHART_DAYS * STEP - (STEP - BAR);
  return html`<svg viewBox="0 0 ${width} ${HEIGHT + 1}" role="img" aria-labelledby="usage-${keyId}">
            ${used.map((each) => bar(each, xOf(each), highest))}
            <rect class="base" x="0" y="${HEIGHT}" width="${width}" height="1"></rect>
          </svg>
          <p class="axis faint">${dayElement(first)} <span>busiest day: ${shownNumber(highest)}</span> ${dayElement(last)}</p>`;
}

/** The requests of a day and, on top of them, those that were refused. */
function bar(use: DayOfUse, x: number, highest: number): Html {
  const { day, requests, refused } = use;
  const scaled = (count: number) => (count * HEIGHT) / highest;
  const part = (name: string, below: number, count: number) =>
    count > 0 &&
    html`<rect class="${name}" x="${x}" y="${(HEIGHT - scaled(below + count)).toFixed(2)}" width="${BAR}" height="${scaled(count).toFixed(2)}"></rect>`;
  return html`<g><title>${day}: ${countOf(allOf(use), 'request')}${overOf(use)}</title>${part('requests', 0, requests)}${part('refused', requests, refused)}</g>`;
}

function table(used: readonly DayOfUse[]): Html {
  return html`<table>
              <thead><tr><th scope="col">Day (UTC)</th><th scope="col">Requests</th><th scope="col">Over the limit (429)</th></tr></thead>
              <tbody>${used.toReversed().map(row)}</tbody>
            </table>`;
}

function row(use: DayOfUse): Html {
  return html`<tr><th scope="row">${dayElement(use.day)}</th><td>${shownNumber(allOf(use))}</td><td>${shownNumber(use.refused)}</td></tr>`;
}
