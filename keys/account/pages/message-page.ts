/** A page with one message: the page does not exist or is not allowed, or something went wrong. */

import { type Html, html } from '../../../pages/html.ts';
import { PATHS } from '../../paths.ts';
import { makePage, type Viewer } from './layout.ts';

export function messagePage(viewer: Viewer, title: string, text: string): Html {
  return makePage({
    title,
    viewer,
    body: html`
      <p>${text}</p>
      <p><a href="${PATHS.keys}">Go to your API keys</a></p>`,
  });
}
