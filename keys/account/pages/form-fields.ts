/** The fields of forms: each with its label, a hint, and what is wrong with the value that was typed. */
import { type Html, html } from '../../../lib/pages/html.ts';
import type { Fault } from '../../lifecycle/refusal.ts';

/** A form that was refused. */
export interface Refused {
  /** To which it was sent. No two forms of a page have the same. */
  readonly path: string;
  readonly form: URLSearchParams;
  readonly faults: readonly Fault[];
}

interface Field {
  readonly name: string;
  /** Unique on the page; by default the name. */
  readonly id?: string;
  readonly label: string;
  readonly hint?: string;
  /** What it contains; after a refusal, what was typed. */
  readonly value?: string | number | null | undefined;
  /** For a text of several lines: how many are shown. */
  readonly rows?: number;
  /** Further attributes. */
  readonly more: Html;
}

/** @returns a function that makes the fields of the form with this path; the first that is wrong gets the focus */
export function makeFields(path: string, refused: Refused | undefined) {
  const { form, faults = [] } = refused?.path === path ? refused : {};
  return ({ name, id = name, label, hint, value, rows, more }: Field): Html => {
    const fault = faults.find(({ field }) => field === name)?.text;
    const described = [fault && `${id}-fault`, hint && `${id}-hint`].filter(Boolean).join(' ');
    const state =
      fault && html` aria-invalid="true"${name === faults[0]?.field && html` autofocus`}`;
    const own = html`id="${id}" name="${name}" ${more}${described && html` aria-describedby="${described}"`}${state}`;
    const text = form?.get(name) ?? value ?? '';
    return html`<label for="${id}">${label}</label>
            ${hint && html`<p class="faint" id="${id}-hint">${hint}</p>`}
            ${fault && html`<p class="state bad" id="${id}-fault">${fault}</p>`}
            ${rows === undefined ? html`<input ${own} value="${text}">` : html`<textarea ${own} rows="${rows}">\n${text}</textarea>`}`;
  };
}
