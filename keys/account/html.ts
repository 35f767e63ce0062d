/**
 * HTML that is escaped by construction: the only way to make `Html` is the tag of a template, and
 * whatever stands in a template's gaps is escaped unless it is `Html` itself. Pages are made of it.
 */

const MARKUP = Symbol('markup');

/** Markup that is safe to send. */
export interface Html {
  readonly [MARKUP]: string;
}

/** What a gap of a template takes; undefined and false leave nothing. */
export type Piece = string | number | Html | readonly Piece[] | undefined | false;

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/**
 * The tag of a template.
 * @throws Error where a gap stands as an attribute's value without quotes: no escaping helps there
 */
export function html(texts: TemplateStringsArray, ...pieces: readonly Piece[]): Html {
  let markup = texts[0];
  for (const [place, piece] of pieces.entries()) {
    const before = texts[place];
    if (before.endsWith('=')) throw new Error(`A gap stands without quotes after ${before}`);
    markup += markupOf(piece) + texts[place + 1];
  }
  return { [MARKUP]: markup };
}

/** The characters of some markup, to be sent as they are. */
export function textOf(page: Html): string {
  return page[MARKUP];
}

function markupOf(piece: Piece): string {
  if (piece === undefined || piece === false) return '';
  if (typeof piece === 'string') return escapeText(piece);
  if (typeof piece === 'number') return String(piece);
  if (isHtml(piece)) return piece[MARKUP];
  return piece.map(markupOf).join('');
}

function isHtml(piece: Html | readonly Piece[]): piece is Html {
  return MARKUP in piece;
}

/** Control characters, and those that turn the direction of what stands beside them. */
const STEERING = /(?![\t\n\r])\p{Cc}|[\u202a-\u202e\u2066-\u2069]/gu;

function escapeText(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ESCAPES[character]).replace(STEERING, '\ufffd');
}
