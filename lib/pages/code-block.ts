/**
 * Blocks of code with a button that copies them: one text, or the same in several languages, of which
 * the reader chooses one. Both work without scripts: the button is then hidden, and radio buttons
 * choose the language.
 */
import { type Html, html } from './html.ts';

interface CodeBlock {
  /** The id of the text; unique on the page. */
  readonly id: string;
  /** What the block contains, such as "Command"; the copy button and screen readers name it. */
  readonly name: string;
  readonly text: string;
}

export function codeBlock({ id, name, text }: CodeBlock): Html {
  return html`<div class="code">
  <pre><code id="${id}">${text}</code></pre>
  <button type="button" class="quiet small needs-script" data-copy="${id}">Copy<span class="unseen"> ${name}</span></button>
</div>`;
}

/** The commands that set what all samples read. @param api the address of the API, with the base path */
export function variables(api: string, key: string): string {
  return `export COVERS_API=${api}\nexport COVERS_KEY=${key}`;
}

/** A text in one language. The names of the languages are those of {@link LANGUAGES}. */
export interface Sample {
  readonly language: Language;
  readonly text: string;
}

/** design.css shows the block whose language is chosen, by these names. */
const LANGUAGES = { curl: 'curl', javascript: 'JavaScript', python: 'Python' } as const;
export type Language = keyof typeof LANGUAGES;

/**
 * @param parts.id a prefix of the ids of the blocks; unique on the page
 * @param parts.name of what the samples do, such as "List platforms"
 */
export function codeSamples(
  { id, name }: Omit<CodeBlock, 'text'>,
  samples: readonly Sample[],
): Html {
  return html`<fieldset class="samples">
  <legend class="unseen">Language: ${name}</legend>
  ${samples.map(
    ({ language }, index) =>
      html`<label><input type="radio" name="${id}" value="${language}"${index === 0 && html` checked`}>${LANGUAGES[language]}</label>`,
  )}
  ${samples.map(
    ({ language, text }) =>
      html`<div class="sample ${language}">${codeBlock({ id: `${id}-${language}`, name: `${name} in ${LANGUAGES[language]}`, text })}</div>`,
  )}
</fieldset>`;
}

/** A response, named as samples are. @param id of its call */
export function responseBlock(id: string, text: string): Html {
  const block = codeBlock({ id: `${id}-response`, name: 'Response', text });
  return html`<div class="samples"><strong>Response</strong><div class="sample">${block}</div></div>`;
}
