/**
 * Markdown of our own files as markup for the pages. Headings get anchors. Code can be copied, and code
 * in several languages in a row becomes one block in which readers choose a language.
 */
import { Marked, Renderer, type Token, type Tokens } from 'marked';
import {
  besideResponse,
  codeBlock,
  codeSamples,
  type Language,
} from '../../lib/pages/code-block.ts';
import { type Html, html, trusted } from '../../lib/pages/html.ts';

/** A heading of a page, with those below it. */
export interface Heading {
  readonly id: string;
  readonly text: string;
  readonly parts?: readonly Heading[];
}

/** The language of the samples on a page, by the name behind the opening fence. */
const LANGUAGE_OF: Readonly<Record<string, Language>> = {
  sh: 'curl',
  js: 'javascript',
  python: 'python',
};

const marked = new Marked({
  renderer: {
    heading({ tokens, depth, text }) {
      const id = idOf(text);
      return `<h${depth} id="${id}"><a class="anchor" href="#${id}">${this.parser.parseInline(tokens)}</a></h${depth}>\n`;
    },
    table(token) {
      return `<div class="table">${Renderer.prototype.table.call(this, token)}</div>`;
    },
    link({ href, tokens }) {
      // The contract refers to an operation by "#/operation/<id>", which is "#<id>" in the reference.
      const address = href.replace(/^#\/\w+\//, '#');
      return html`<a href="${address}">${trusted(this.parser.parseInline(tokens))}</a>`.toString();
    },
  },
});

/**
 * @param idPrefix a prefix of the ids of blocks of code; unique on the page
 * @returns the text of the first heading, what follows it, and the headings of the second level
 * @throws Error if the text does not begin with a heading of the first level
 */
export function renderArticle(text: string, idPrefix: string) {
  const [title, ...tokens] = marked.lexer(text);
  if (title?.type !== 'heading' || title.depth !== 1) {
    throw new Error(`A text must begin with "# Title", not ${JSON.stringify(text.slice(0, 40))}.`);
  }
  const headings: readonly Heading[] = tokens.flatMap((token) =>
    token.type === 'heading' && token.depth === 2
      ? [{ id: idOf(token.text), text: token.text }]
      : [],
  );
  return { title: title.text, headings, body: renderTokens(tokens, idPrefix) };
}

/** Renders Markdown without a title. @param idPrefix as for {@link renderArticle} */
export function renderMarkdown(text: string, idPrefix: string): Html {
  return renderTokens(marked.lexer(text), idPrefix);
}

/** Renders Markdown of one line, without a paragraph around it. */
export function renderLine(text: string): Html {
  return trusted(marked.parseInline(text, { async: false }));
}

/** Blocks of code stay together until something else follows, or a language for the second time. */
function renderTokens(tokens: readonly Token[], idPrefix: string): Html {
  const runs: Token[][] = [];
  for (const token of tokens.filter(({ type }) => type !== 'space')) {
    const run = runs.at(-1) ?? [];
    const isCode = run[0]?.type === 'code' && token.type === 'code';
    if (isCode && !run.some((each) => each.type === 'code' && each.lang === token.lang))
      run.push(token);
    else runs.push([token]);
  }
  return html`${runs.map((run, at) =>
    run[0].type === 'code'
      ? code(run as Tokens.Code[], `${idPrefix}-${at + 1}`)
      : trusted(marked.parser(run)),
  )}`;
}

/** A call of the API, and nothing else: what the guides show the response to. */
const CALL = /^curl -H "[^"]*" (?:\\\n {2})?'[^']*?\/api\/v1(\/[^']*)'$/;

/** Code, and beside a single call its response. */
function code(blocks: readonly Tokens.Code[], id: string): Html {
  const [{ text }] = blocks;
  const [, target] = CALL.exec(text) ?? [];
  if (target !== undefined) return besideResponse(samples(blocks, id), id, `{{GET ${target}}}`);
  return blocks.length === 1 ? codeBlock({ id, name: 'Example', text }) : samples(blocks, id);
}

function samples(blocks: readonly Tokens.Code[], id: string): Html {
  const samples = blocks.map(({ lang = '', text }) => {
    const language = LANGUAGE_OF[lang];
    if (language === undefined) throw new Error(`Code in "${lang}" stands next to other code.`);
    return { language, text };
  });
  return codeSamples({ id, name: 'Example' }, samples);
}

/** As GitHub does: lower case, hyphens for spaces, without punctuation. */
function idOf(text: string): string {
  const words = text.toLowerCase().replaceAll(/[^\p{L}\p{N} -]/gu, '');
  return words.trim().replaceAll(/ +/g, '-');
}
