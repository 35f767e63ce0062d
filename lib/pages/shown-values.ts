/** Values as people read them, on pages and in e-mails. */
import { type Html, html } from './html.ts';

// Made once: toLocaleString makes one for each number, which took most of the time of a page.
const NUMBERS = new Intl.NumberFormat('en-GB');
const DAYS = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' });
const TIMES = new Intl.DateTimeFormat('en-GB', {
  dateStyle: 'medium',
  timeStyle: 'short',
  timeZone: 'UTC',
});

/** "2,300" */
export function shownNumber(value: number): string {
  return NUMBERS.format(value);
}

/** "1 game", "2,300 games" */
export function countOf(count: number, noun: string): string {
  return `${shownNumber(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** "4 Mar 2026, 05:06 UTC" */
export function shownTime(time: Date): string {
  return `${TIMES.format(time)} UTC`;
}

/** A time as markup that programs can read, too. */
export function timeElement(time: Date): Html {
  return html`<time datetime="${time.toISOString()}">${shownTime(time)}</time>`;
}

/** The day of a time as markup. @param time beginning with "YYYY-MM-DD", in UTC */
export function dayElement(time: string): Html {
  const day = time.slice(0, 10);
  return html`<time datetime="${day}">${DAYS.format(new Date(day))}</time>`;
}

export function capitalise(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Whether an address that others wrote may become a link: only one of the web. */
export function isWebAddress(address: string): boolean {
  return URL.canParse(address) && /^https?:$/.test(new URL(address).protocol);
}

/** A name and its value. If the value is undefined, null or '', neither is shown. */
export type Fact = readonly [name: string, value: Html | string | number | null | undefined];

export function factList(pairs: readonly Fact[]): Html {
  return html`<dl>${pairs.map(
    ([name, value]) =>
      value !== undefined &&
      value !== null &&
      value !== '' &&
      html`<div><dt>${name}</dt><dd>${value}</dd></div>`,
  )}</dl>`;
}
