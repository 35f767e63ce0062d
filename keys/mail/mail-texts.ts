/**
 * The texts of the e-mails. No mail contains an API key. Text that people typed appears only in
 * bodies, never in subjects. A link stands alone on its line, so that every mail program shows it
 * whole.
 */
import { shownNumber } from '../../lib/pages/shown-values.ts';
import type { Environment } from '../../lib/program/environment/environment.ts';
import { PATHS } from '../paths.ts';
import type { Account } from '../tables/accounts.ts';

export interface MailText {
  /** One line. */
  readonly subject: string;
  /** Plain text with \n as line break. */
  readonly body: string;
}

/** The facts that a mail about a key contains. */
export interface KeyNews {
  readonly keyId: number;
  /** What the owner calls the key; null if it has no name. */
  readonly name: string | null;
  /** The key for which a request asks a higher limit; null if it asks for a key. */
  readonly limitOf: number | null;
  readonly owner: Account;
  /** The address of the pages, without a slash at the end. */
  readonly publicUrl: string;
}

/** @param limit in requests per minute */
export function approvedMail(news: KeyNews, limit: number): MailText {
  const limits = `${shownNumber(limit)} requests per minute`;
  const { keyId, limitOf } = news;
  if (limitOf !== null) {
    return mailOf(news, `Request ${keyId} is approved: key ${limitOf} has a higher limit`, [
      `Your request ${keyId} is approved. Key ${limitOf} allows ${limits} now. You need not change anything.`,
      'See your keys and requests:',
      keysPage(news),
    ]);
  }
  return mailOf(news, `Request ${news.keyId} is approved: your API key is ready`, [
    `Your request ${named(news)} is approved. Your key allows ${limits}. Reveal it on this page:`,
    keysPage(news),
    'It is shown only once, so have a safe place ready for it.',
  ]);
}

export function rejectedMail(news: KeyNews, reason: string): MailText {
  const { keyId, limitOf } = news;
  const what = limitOf === null ? 'an API key' : 'a higher limit';
  const kept = limitOf === null ? '' : `; key ${limitOf} keeps its limit`;
  return mailOf(news, `Request ${keyId} for ${what} was not approved`, [
    `Your request ${named(news)} was not approved${kept}. The moderator wrote:`,
    quoted(reason),
    'You can send a new request here:',
    keysPage(news),
  ]);
}

/** @param reason undefined if the owner revoked the key */
export function revokedMail(news: KeyNews, reason: string | undefined): MailText {
  const facts =
    reason === undefined
      ? [
          `Your API key ${named(news)} was revoked on your account page. It no longer works. If that wasn't you, tell us: somebody else may have signed in to your account.`,
        ]
      : [
          `A moderator has revoked your API key ${named(news)}. It no longer works. The moderator wrote:`,
          quoted(reason),
        ];
  const paragraphs = [...facts, 'See your keys and requests:', keysPage(news)];
  return mailOf(news, `API key ${news.keyId} was revoked`, paragraphs);
}

/** @param hours for how long the old key still works */
export function rotatedMail(news: KeyNews, hours: number): MailText {
  return mailOf(news, `API key ${news.keyId} was rotated`, [
    `Your API key ${named(news)} was replaced by a new one. The old one ${hours === 0 ? 'no longer works' : `works for ${hours} more hours`}.`,
    "If that wasn't you, rotate it again at once, or revoke it:",
    keysPage(news),
  ]);
}

export const SIGN_IN_SUBJECT = 'Your sign-in link';

interface MailLink {
  readonly token: string;
  /** How long the link works. */
  readonly minutes: number;
  readonly publicUrl: string;
}

export function signInMail(owner: Account, { token, minutes, publicUrl }: MailLink): MailText {
  return mailOf({ owner }, SIGN_IN_SUBJECT, [
    'Open this link to sign in:',
    `${publicUrl}${PATHS.link}?token=${token}`,
    `It works once, within ${minutes} minutes. If you didn't ask for it, ignore this e-mail.`,
  ]);
}

/** The end of each e-mail: what the operator calls the site, and whom to ask. '' if neither is set. */
export function mailSignature({ SITE_NAME, SITE_CONTACT }: Signature): string {
  const lines = [SITE_NAME, SITE_CONTACT].filter((line) => line !== '');
  return lines.length === 0 ? '' : `\n-- \n${lines.join('\n')}\n`;
}
type Signature = Pick<Environment<'SITE_NAME' | 'SITE_CONTACT'>, 'SITE_NAME' | 'SITE_CONTACT'>;

function mailOf(
  { owner }: Pick<KeyNews, 'owner'>,
  subject: string,
  paragraphs: readonly string[],
): MailText {
  return { subject, body: `${[`Hello ${oneLine(owner.name)},`, ...paragraphs].join('\n\n')}\n` };
}

function keysPage({ publicUrl }: KeyNews): string {
  return `${publicUrl}${PATHS.keys}`;
}

/** The number of a key and, if it has one, its name: `5 ("Shelf app")`. */
function named({ keyId, name }: KeyNews): string {
  return name === null ? String(keyId) : `${keyId} ("${oneLine(name)}")`;
}

// Each line begins with ">", so that nobody takes a reason for the text of the mail itself.
function quoted(text: string): string {
  return text
    .trim()
    .split(/\r\n|[\r\n\u2028\u2029\v\f\u0085]/)
    .map((line) => `> ${line.replace(/\p{Cc}/gu, ' ')}`.trimEnd())
    .join('\n');
}

function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ').trim();
}
