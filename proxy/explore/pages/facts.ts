/** A list of facts, each with its name and value. */
import { type Html, html } from '../../../pages/html.ts';

/** A fact whose value is not known is left out. */
export function facts(pairs: readonly (readonly [string, Html | string | number | null])[]): Html {
  return html`<dl class="facts">${pairs.map(
    ([name, value]) =>
      value !== null && value !== '' && html`<div><dt>${name}</dt><dd>${value}</dd></div>`,
  )}</dl>`;
}
