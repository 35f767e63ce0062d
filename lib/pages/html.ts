/**
 * The template tag of the pages. It is `hono/html`, which escapes the values in a template, with types
 * for these values. It also replaces control characters, and characters that change the direction of
 * text, by U+FFFD.
 */
import { html as escapeHtml, raw } from 'hono/html';
import type { HtmlEscapedString } from 'hono/utils/html';

/** Markup that is safe to send. */
export type Html = HtmlEscapedString;

/** A value in a template; undefined and false become an empty text. */
type Piece = string | number | Html | readonly Piece[] | undefined | false;

/** Control characters, and characters that change the direction of the text around them. */
const UNSAFE = /(?![\t\n\r])\p{Cc}|[\u202a-\u202e\u2066-\u2069]/gu;

/** @throws Error if the value of an attribute has no quotes, because escaping is not enough there */
export function html(texts: TemplateStringsArray, ...pieces: readonly Piece[]): Html {
  const unquoted = texts.slice(0, -1).find((text) => text.endsWith('='));
  if (unquoted !== undefined) throw new Error(`Put quotes around the value after ${unquoted}`);
  const markup = escapeHtml(texts, ...pieces.map(replaceUnsafe));
  if (markup instanceof Promise) throw new Error('A value in a template is a promise.');
  return markup;
}

/** Marks a text as markup that is safe to send, such as what a Markdown library has made of our own files. */
export const trusted = (markup: string): Html => raw(markup);

function replaceUnsafe(piece: Piece): Piece {
  if (typeof piece === 'string') return piece.replace(UNSAFE, '\ufffd');
  if (Array.isArray(piece)) return piece.map(replaceUnsafe);
  // Markup is a String object. Parsed JSON never contains one, so it cannot pass for markup.
  if (typeof piece === 'object' && !(Object(piece) instanceof String)) {
    throw new Error('A value in a template is an object that is not markup.');
  }
  return piece;
}
