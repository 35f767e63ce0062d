/** A page of one sentence: what is not there, not allowed, or went wrong. */
import { type Html, html } from '../html.ts';
import { makePage, PATHS, type Viewer } from './layout.ts';

export function messagePage(viewer: Viewer, title: string, text: string): Html {
  return makePage({
    title,
    viewer,
    body: html`
      <p>${text}</p>
      <p><a href="${PATHS.keys}">To the page of API keys</a></p>`,
  });
}
