/**
 * Sends a mail to the mail server of `SMTP_URL`. Without a mail server, writes each mail to a file.
 * Invariants: a recipient is a single address, which cannot add a recipient or a header field. Without TLS,
 * nothing is sent to another machine unless the operator says so.
 */
import { mkdirSync } from 'node:fs';
import { hostname as machineName } from 'node:os';
import path from 'node:path';
import { domainToASCII } from 'node:url';
import type { Transporter } from 'nodemailer';
import { replaceFile } from '../../lib/generations/files/replace-file.ts';
import { readValue } from '../../lib/program/arguments.ts';
import type { ValueChecks } from '../../lib/program/environment/environment.ts';
import { checkWritableFolder } from '../../lib/program/folders.ts';
import { timeLimit } from '../../lib/program/time-limit.ts';

export interface Mail {
  /** The same for each attempt to send the same mail; digits and dots. */
  readonly id: string;
  readonly to: string;
  readonly subject: string;
  /** Plain text. */
  readonly text: string;
  readonly date: Date;
}

export interface Mailer {
  /**
   * @throws Error that says why the mail was not accepted; {@link isRefusal} tells whether the mail
   * itself is the cause
   */
  send(mail: Mail): Promise<void>;
}

const CONNECT_MS = 10_000;
const SILENCE_MS = 30_000;
/** Of one mail in all. A reply that is sent byte by byte is never silent. */
const LONGEST_MS = 120_000;
/** In bytes, without the line break (RFC 5321, 4.5.3.1.6). */
const LONGEST_LINE = 998;
/** The code of nodemailer's errors of TLS. */
const NO_TLS = 'ETLS';
// Allows no display name, comment, list or quoted part.
const ADDRESS = /^[^\s@<>()[\]\\,;:"\p{C}]{1,64}@[^\s@<>()[\]\\,;:"\p{C}]{1,255}$/u;

/** Whether a text is one e-mail address and nothing else. */
export function isMailAddress(text: string): boolean {
  return ADDRESS.test(text);
}

/**
 * Whether this mail was refused but others may be accepted. If not, no mail can be sent at present: for
 * example, the mail server cannot be reached or refuses the login, or the disk is full.
 * @param error what `send` threw
 */
export function isRefusal(error: unknown): boolean {
  const { code = '', responseCode }: { code?: string; responseCode?: number } = Object(error);
  if (responseCode === undefined) return code === 'EENVELOPE' || code === 'EMESSAGE';
  // 421: the server closes the connection (RFC 5321, 3.8).
  return responseCode !== 421 && code !== 'EAUTH' && code !== NO_TLS;
}

/**
 * Whether the mail server will never accept this mail: it has refused the recipient or the content with 5xx.
 * Its other refusals may be the fault of the settings, which an operator can correct.
 * @param error what `send` threw
 */
export function isFinalRefusal(error: unknown): boolean {
  const { command = '', responseCode = 0 }: { command?: string; responseCode?: number } =
    Object(error);
  return responseCode >= 500 && (command === 'RCPT TO' || command === 'DATA');
}

export interface MailSettings {
  /**
   * `smtp://user:password@host:587`, `smtps://…`, or `smtp://…?insecure` for a server without TLS; if empty,
   * mails are written to files.
   */
  readonly smtpUrl: string;
  /** The folder for these files, one `.eml` for each mail. It is created with the first file. */
  readonly folder: string;
  /** The sender, such as "Cover Catalogue <no-reply@example.org>". */
  readonly from: string;
  /** What stands below each text. */
  readonly signature?: string;
}

export function makeMailer(
  { smtpUrl, folder, from, signature = '' }: MailSettings,
  longestMs = LONGEST_MS,
): Mailer {
  const sender = readValue('MAIL_FROM', from, parseSender);
  const domain = domainOf(sender.address);
  const compose = ({ id, to, subject, text, date }: Mail) => {
    if (!isMailAddress(to)) {
      throw Object.assign(new Error(`${JSON.stringify(to)} is not an e-mail address.`), {
        code: 'EENVELOPE',
      });
    }
    return {
      from: sender,
      to: { name: '', address: to },
      envelope: { from: sender.address, to: [to] },
      messageId: `<${id}@${domain}>`,
      subject: subject.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' '),
      text,
      date,
      // Tells mail programs not to send automatic replies.
      headers: { 'Auto-Submitted': 'auto-generated' },
      disableFileAccess: true,
      disableUrlAccess: true,
    };
  };

  let transport: Transporter | undefined;
  return {
    async send(unsigned) {
      const mail = { ...unsigned, text: unsigned.text + signature };
      // Loaded when it is first needed: loading takes as long as a verb of `cover-catalogue keys` takes
      // to run, and most verbs send nothing.
      const { createTransport } = await import('nodemailer');
      transport ??= createTransport(
        smtpUrl === ''
          ? { streamTransport: true, buffer: true }
          : transportOptions(smtpUrl, domain),
      );
      const signal = timeLimit(longestMs);
      const { message } = await transport.sendMail({ ...compose(mail), signal }).catch((error) => {
        if (!signal.aborted) return explain(error);
        const seconds = longestMs / 1000;
        throw new Error(`The mail server is too slow: the e-mail was not sent after ${seconds} s`);
      });
      if (smtpUrl !== '') return;
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const file = path.join(folder, `${mail.id}.eml`);
      // Only the owner may read it, because it may contain a sign-in link.
      replaceFile(file, withPlainText(message, mail.text), { mode: 0o600 });
    },
  };
}

/**
 * Replaces the encoded text of a mail with the text itself. A transfer encoding would break long lines, and
 * people could not copy a link out of the file. Lines that are too long for a mail stay encoded.
 */
function withPlainText(message: unknown, text: string): string {
  if (text.split('\n').some((line) => Buffer.byteLength(line) > LONGEST_LINE))
    return String(message);
  const [head] = String(message).split('\r\n\r\n', 1);
  const plain = head.replace(/^(Content-Transfer-Encoding:).*$/im, '$1 8bit');
  return `${plain}\r\n\r\n${text.replaceAll('\n', '\r\n')}`;
}

/** The domain of an address, in Punycode: nodemailer encodes only those of the addresses themselves. */
function domainOf(address: string): string {
  const domain = address.slice(address.lastIndexOf('@') + 1);
  return domainToASCII(domain) || domain;
}

/** @param domain of the sender, the name of this machine if it has only a short one: servers want a whole one */
function transportOptions(smtpUrl: string, domain: string) {
  const name = [machineName(), domain].find((each) => each.includes('.'));
  const url = new URL(smtpUrl);
  const { hostname, searchParams } = url;
  const isLoopback = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
  // Otherwise, whoever removes STARTTLS from the server's reply gets the password and the sign-in links.
  if (!isLoopback && searchParams.get('insecure') !== '') searchParams.set('requireTLS', 'true');
  return {
    url: url.href,
    ...(name !== undefined && { name }),
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    dnsTimeout: CONNECT_MS,
    socketTimeout: SILENCE_MS,
  };
}

/**
 * Connects to the mail server and signs in, but sends nothing.
 * @throws Error that says why the server did not answer or refused the login
 */
export async function checkMailServer({
  smtpUrl,
  from,
}: Pick<MailSettings, 'smtpUrl' | 'from'>): Promise<void> {
  const { createTransport } = await import('nodemailer');
  const transport = createTransport(transportOptions(smtpUrl, domainOf(parseSender(from).address)));
  try {
    await transport.verify().catch(explain);
  } finally {
    transport.close();
  }
}

/** Throws the error of the mail server, with the fix if it does not offer TLS. */
function explain(error: Error & { readonly code?: string; readonly command?: string }): never {
  // A wrong certificate has the same code, but is found after the command.
  if (error.code === NO_TLS && error.command === 'STARTTLS') {
    error.message +=
      ' (without TLS, nothing is sent to another machine; if you trust the network in between, add ?insecure to SMTP_URL)';
  }
  throw error;
}

/**
 * Parses MAIL_FROM.
 * @throws Error that says what is allowed and continues the sentence "MAIL_FROM …"
 */
function parseSender(text: string): { name: string; address: string } {
  const [, name = '', bracketed] = /^(?:"?([^"<>]*?)"?\s*<([^<>]*)>)$/.exec(text.trim()) ?? [];
  const address = bracketed ?? text.trim();
  if (isMailAddress(address) && !/\p{Cc}/u.test(name)) return { name, address };
  throw new Error(
    `must be an address such as Cover Catalogue <no-reply@example.org>, not ${JSON.stringify(text)}.`,
  );
}

/** Checks of the variables that {@link MailSettings} come from. */
export const MAIL_CHECKS: ValueChecks<'SMTP_URL' | 'MAIL_FROM' | 'MAIL_FOLDER'> = {
  MAIL_FROM: parseSender,
  MAIL_FOLDER(folder, { SMTP_URL }) {
    if (SMTP_URL === '') checkWritableFolder(folder);
  },
};
