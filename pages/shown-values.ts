/** Numbers and times as people read them, on pages and in e-mails. */
import { type Html, html } from './html.ts';

// Made once: toLocaleString makes one for each number, which took most of the time of a page.
const NUMBERS = new Intl.NumberFormat('en-GB');
const TIMES = new Intl.DateTimeFormat('en-GB', {
  dateStyle: 'medium',
  timeStyle: 'short',
  timeZone: 'UTC',
});

/** "2,300" */
export function shownNumber(value: number): string {
  return NUMBERS.format(value);
}

/** "4 Mar 2026, 05:06 UTC" */
export function shownTime(time: Date): string {
  return `${TIMES.format(time)} UTC`;
}

/** A time as markup that programs can read, too. */
export function timeElement(time: Date): Html {
  return html`<time datetime="${time.toISOString()}">${shownTime(time)}</time>`;
}
