/**
 * The texts of the e-mails. No mail contains an API key. Text that people typed appears only in
 * bodies, never in subjects.
 */
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
  readonly owner: Account;
  /** The address of the pages, without a slash at the end. */
  readonly publicUrl: string;
}

/**
 * @param limit in requests per minute
 * @param dailyQuota null if there is none
 */
export function approvedMail(
  { keyId, owner, publicUrl }: KeyNews,
  limit: number,
  dailyQuota: number | null,
): MailText {
  const quota = dailyQuota === null ? '' : ` and at most ${dailyQuota} a day`;
  return {
    subject: `Your request ${keyId} for an API key is approved`,
    body: letter(owner, [
      `your request ${keyId} for an API key is approved, with ${limit} requests a minute${quota}. Reveal the key on your account page:`,
      `${publicUrl}${PATHS.keys}`,
      'It is shown only once. Have a safe place ready for it.',
    ]),
  };
}

export function rejectedMail({ keyId, owner, publicUrl }: KeyNews, reason: string): MailText {
  return {
    subject: `Your request ${keyId} for an API key is rejected`,
    body: letter(owner, [
      `your request ${keyId} for an API key is rejected. The moderator's reason:`,
      quoted(reason),
      'You can request another key on your account page:',
      `${publicUrl}${PATHS.keys}`,
    ]),
  };
}

export function suspendedMail({ keyId, owner, publicUrl }: KeyNews, reason: string): MailText {
  return {
    subject: `Your API key ${keyId} is suspended`,
    body: letter(owner, [
      `your API key ${keyId} is suspended. Until a moderator resumes it, requests with it are refused. The moderator's reason:`,
      quoted(reason),
      ...linkToKeys(publicUrl),
    ]),
  };
}

export function resumedMail({ keyId, owner, publicUrl }: KeyNews): MailText {
  return {
    subject: `Your API key ${keyId} works again`,
    body: letter(owner, [
      `your API key ${keyId} is no longer suspended, and works again.`,
      ...linkToKeys(publicUrl),
    ]),
  };
}

/** @param reason undefined if the owner revoked the key */
export function revokedMail(
  { keyId, owner, publicUrl }: KeyNews,
  reason: string | undefined,
): MailText {
  return {
    subject: `Your API key ${keyId} is revoked`,
    body: letter(owner, [
      ...(reason === undefined
        ? [
            `your API key ${keyId} was revoked on your account page and has stopped working. If that was not you, tell us.`,
          ]
        : [
            `your API key ${keyId} is revoked and has stopped working. The moderator's reason:`,
            quoted(reason),
          ]),
      ...linkToKeys(publicUrl),
    ]),
  };
}

export const SIGN_IN_SUBJECT = 'Your link to sign in';

/** @param minutes how long the link works */
export function signInMail(
  owner: Account,
  { token, minutes, publicUrl }: { token: string; minutes: number; publicUrl: string },
): MailText {
  return {
    subject: SIGN_IN_SUBJECT,
    body: letter(owner, [
      'this link signs you in:',
      `${publicUrl}${PATHS.link}?token=${token}`,
      `It works once, within ${minutes} minutes. If you did not request it, ignore this e-mail.`,
    ]),
  };
}

function linkToKeys(publicUrl: string): string[] {
  return ['Your keys and requests are on your account page:', `${publicUrl}${PATHS.keys}`];
}

function letter(owner: Account, paragraphs: readonly string[]): string {
  return `${[`Hello ${oneLine(owner.name)},`, ...paragraphs].join('\n\n')}\n`;
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
