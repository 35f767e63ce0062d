/**
 * Markdown of our own files as markup for the pages. Headings get anchors. Code can be copied, and code
 * in several languages in a row becomes one block in which readers choose a language.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Marked, Renderer, type Token, type Tokens } from 'marked';
import {
  codeBlock,
  codeSamples,
  type Language,
  responseBlock,
} from '../../lib/pages/code-block.ts';
import { addressOf } from '../../lib/pages/files/call-samples.js';
import { type Html, html, trusted } from '../../lib/pages/html.ts';
import { fillIn, type Shown } from './examples.ts';

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

/** @param fill replaces names such as `{{game}}`; the result is text, and never markup */
function makeMarked(fill: (text: string) => string): Marked {
  return new Marked({
    renderer: {
      heading({ tokens, depth, text }) {
        const id = idOf(text);
        return `<h${depth} id="${id}"><a class="anchor" href="#${id}">${this.parser.parseInline(tokens)}</a></h${depth}>\n`;
      },
      table(token) {
        return `<div class="table" tabindex="0" role="group" aria-label="Table">${Renderer.prototype.table.call(this, token)}</div>`;
      },
      link({ href, tokens }) {
        // The contract refers to an operation by "#/operation/<id>", which is "#<id>" in the reference.
        const address = href.replace(/^#\/\w+\//, '#');
        return html`<a href="${address}">${trusted(this.parser.parseInline(tokens))}</a>`.toString();
      },
      // False stands for what marked makes of a token.
      text(token) {
        const isFilled = !('tokens' in token) && NAME.test(token.text);
        return isFilled && html`${fill(token.text)}`.toString();
      },
      codespan({ text }) {
        return NAME.test(text) && html`<code>${fill(text)}</code>`.toString();
      },
    },
  });
}

const NAME = /\{\{\w+\}\}/;
const marked = makeMarked((text) => text);

/** An article that shows examples of a generation. */
export interface Article {
  /** The text of the first heading. */
  readonly title: string;
  /** The headings of the second level. */
  readonly headings: readonly Heading[];
  /** Makes what follows the title. */
  readonly render: (shown: Shown) => Promise<Html>;
}

/**
 * @param idPrefix a prefix of the ids of blocks of code; unique on the page
 * @throws Error if the text does not begin with a heading of the first level
 */
export function readArticle(text: string, idPrefix: string): Article {
  const [title, ...tokens] = marked.lexer(text);
  if (title?.type !== 'heading' || title.depth !== 1) {
    throw new Error(`A text must begin with "# Title", not ${JSON.stringify(text.slice(0, 40))}.`);
  }
  const headings: readonly Heading[] = tokens.flatMap((token) =>
    token.type === 'heading' && token.depth === 2
      ? [{ id: idOf(token.text), text: token.text.replaceAll('`', '') }]
      : [],
  );
  const runs = runsOf(tokens);
  return { title: title.text, headings, render: (shown) => renderRuns(runs, idPrefix, shown) };
}

async function renderRuns(
  runs: readonly Token[][],
  idPrefix: string,
  { examples, responseTo }: Shown,
): Promise<Html> {
  const fill = (text: string) => fillIn(text, examples);
  const filling = makeMarked(fill);
  const render = async (run: Token[], at: number) => {
    if (!isCode(run)) return trusted(filling.parser(run));
    const id = `${idPrefix}-${at + 1}`;
    const blocks = run.map((block) => ({ ...block, text: fill(block.text) }));
    const target = targetOf(blocks[0].text);
    if (target === undefined) return code(blocks, id);
    return html`${samples(blocks, id)}${responseBlock(id, await responseTo(target))}`;
  };
  const parts: Html[] = [];
  for (const [at, run] of runs.entries()) {
    await nextTurn();
    parts.push(await render(run, at));
  }
  return html`${parts}`;
}

/** Renders Markdown without a title and examples. @param idPrefix as for {@link readArticle} */
export function renderMarkdown(text: string, idPrefix: string): Html {
  return html`${runsOf(marked.lexer(text)).map((run, at) =>
    isCode(run) ? code(run, `${idPrefix}-${at + 1}`) : trusted(marked.parser(run)),
  )}`;
}

/** Renders Markdown of one line, without a paragraph around it. */
export function renderLine(text: string): Html {
  return trusted(marked.parseInline(text, { async: false }));
}

/** Blocks of code stay together until something else follows, or a language for the second time. */
function runsOf(tokens: readonly Token[]): Token[][] {
  const runs: Token[][] = [];
  for (const token of tokens.filter(({ type }) => type !== 'space')) {
    const run = runs.at(-1) ?? [];
    const goesOn = run[0]?.type === 'code' && token.type === 'code';
    if (goesOn && !run.some((each) => each.type === 'code' && each.lang === token.lang))
      run.push(token);
    else runs.push([token]);
  }
  return runs;
}

function isCode(run: readonly Token[]): run is Tokens.Code[] {
  return run[0].type === 'code';
}

/** A call of the API as `callSamples` writes it, and nothing else. */
const CALL =
  /^curl (?:-G )?"\$COVERS_API(\/[^"]*)" \\\n {2}-H "Authorization[^"]*"((?: \\\n {2}.*)*)$/;
const PARAMETER = /^ {2}(?:-d|--data-urlencode) '?(\w+)=([^'\n]*?)'?(?: \\)?$/gm;

/** What a call asks for, if the code is one: then the guide shows the response to it. */
function targetOf(code: string): string | undefined {
  const [, path, parameters = ''] = CALL.exec(code) ?? [];
  if (path === undefined) return undefined;
  const query = [...parameters.matchAll(PARAMETER)].map(([, name, value]) => [name, value]);
  return addressOf({ path, query: Object.fromEntries(query) }, '');
}

function code(blocks: readonly Tokens.Code[], id: string): Html {
  const [{ text }] = blocks;
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
