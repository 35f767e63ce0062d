/** Checks the value of SMTP_URL. No error quotes the value, because it may contain a password. */

/**
 * @returns the text; an empty text means that there is no mail server
 * @throws Error that says what is allowed and continues the sentence "SMTP_URL …"
 */
export function parseSmtpUrl(text: string): string {
  if (text === '' || isSmtpUrl(text)) return text;
  throw new Error(
    'must be smtp://user:password@host:587 or smtps://user:password@host:465 (special characters percent-encoded).',
  );
}

function isSmtpUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, hostname, pathname, hash } = new URL(text);
  // A path or a fragment is usually the rest of a password that was not percent-encoded.
  const hasPathOrFragment = !['', '/'].includes(pathname) || hash !== '';
  const isSmtp = protocol === 'smtp:' || protocol === 'smtps:';
  return isSmtp && hostname !== '' && !hasPathOrFragment && isPercentEncoded(username + password);
}

function isPercentEncoded(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
