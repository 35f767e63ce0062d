/**
 * The template tag of the pages: `hono/html`, which escapes whatever stands in a gap, with types for
 * what a gap may hold. Characters that would steer the text are shown as a mark.
 */
import { html as escapeHtml } from 'hono/html';
import type { HtmlEscapedString } from 'hono/utils/html';

/** Markup that is safe to send. */
export type Html = HtmlEscapedString;

/** What a gap of a template takes; undefined and false leave nothing. */
export type Piece = string | number | Html | readonly Piece[] | undefined | false;

/** Control characters, and those that turn the direction of the text beside them. */
const STEERING = /(?![\t\n\r])\p{Cc}|[\u202a-\u202e\u2066-\u2069]/gu;

/** @throws Error where a gap is an attribute's value without quotes: escaping does not help there */
export function html(texts: TemplateStringsArray, ...pieces: readonly Piece[]): Html {
  const unquoted = texts.slice(0, -1).find((text) => text.endsWith('='));
  if (unquoted !== undefined) throw new Error(`A gap stands without quotes after ${unquoted}`);
  const markup = escapeHtml(texts, ...pieces.map(withoutSteering));
  if (markup instanceof Promise) throw new Error('A gap holds a promise.');
  return markup;
}

function withoutSteering(piece: Piece): Piece {
  if (typeof piece === 'string') return piece.replace(STEERING, '\ufffd');
  if (Array.isArray(piece)) return piece.map(withoutSteering);
  // Markup is a String object, which no JSON text becomes.
  if (typeof piece === 'object' && !(Object(piece) instanceof String)) {
    throw new Error('A gap holds an object that is not markup.');
  }
  return piece;
}
