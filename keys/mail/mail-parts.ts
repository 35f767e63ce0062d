/**
 * The parts of an e-mail: its text, and the same as HTML. The HTML is made from the text when the mail
 * is sent, so that the outbox stores only the text, and both always say the same. Invariant: only a
 * paragraph that is nothing but an address becomes a link. What people typed is never such a paragraph:
 * it is quoted with ">", or is part of a sentence.
 */
import { escapeToBuffer } from 'hono/utils/html';

const ADDRESS = /^https?:\/\/[^\s<>"']+$/;

/** @param text paragraphs between empty lines; the lines of quoted ones begin with ">" */
export function toHtml(text: string): string {
  const paragraphs = text.trimEnd().split('\n\n').map(toMarkup).join('\n');
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="color-scheme" content="light dark"></head>
<body style="max-width: 38em; font: 16px/1.5 system-ui, sans-serif">
${paragraphs}
</body>
</html>
`;
}

/**
 * Both parts for a mail that is written to a file: without a transfer encoding, which would break long
 * lines, so that people can copy a link out of the file.
 */
export function plainParts(text: string): { raw: string }[] {
  return [part('plain', text), part('html', toHtml(text))];
}

function part(type: 'plain' | 'html', content: string): { raw: string } {
  const head = `Content-Type: text/${type}; charset=utf-8\nContent-Transfer-Encoding: 8bit`;
  return { raw: `${head}\n\n${content}`.replaceAll('\n', '\r\n') };
}

function toMarkup(paragraph: string): string {
  const lines = paragraph.split('\n');
  if (lines.every((line) => line.startsWith('>'))) {
    const quoted = lines.map((line) => escapeHtml(line.replace(/^> ?/, ''))).join('<br>\n');
    return `<blockquote style="margin: 0 0 1em; padding-left: 1em; border-left: 3px solid #999">${quoted}</blockquote>`;
  }
  if (ADDRESS.test(paragraph)) {
    const address = escapeHtml(paragraph);
    return `<p><a href="${address}">${address}</a></p>`;
  }
  return `<p>${escapeHtml(paragraph)}</p>`;
}

/** Only escapes, where the template tag of the pages also replaces characters: both parts say the same. */
function escapeHtml(text: string): string {
  const buffer: [string] = [''];
  escapeToBuffer(text, buffer);
  return buffer[0];
}
