/** The reference: every operation of the contract by tag, then every object that responses contain. */
import { type Html, html } from '../../../pages/html.ts';
import type { Link } from '../../../pages/layout.ts';
import type { Contract, Schema } from './contract.ts';
import { docsPage, type Section } from './docs-page.ts';
import { operationSection } from './operation.ts';
import { description, hasSection, members, sectionId } from './schema.ts';

export interface Reference {
  readonly page: Html;
  /** For the search. */
  readonly sections: readonly Section[];
}

/**
 * @param api the address of the API, with the base path
 * @param pages all pages of the docs
 */
export function makeReference(contract: Contract, api: string, pages: readonly Link[]): Reference {
  const groups = contract.tags.map((tag) => ({
    ...tag,
    id: tag.name.toLowerCase(),
    operations: Object.entries(contract.paths).filter(([, { get }]) => get.tags[0] === tag.name),
  }));
  const objects = objectsOf(contract);
  const body = html`
    <p class="lead">Every endpoint, with its parameters, its responses, and code to copy. The address of the API is <code>${api}</code>. Programs can read the <a href="/openapi.json">OpenAPI document</a>.</p>
    <form class="your-key needs-script" id="your-key">
      <label for="key">Your API key</label>
      <p class="hint" id="key-hint">To try the API on this page and in the explorer. The key stays in this tab, and is gone when you close it. No key yet? <a href="/account/api-keys">Get one</a>.</p>
      <input id="key" type="password" autocomplete="off" spellcheck="false" aria-describedby="key-hint">
    </form>
    ${groups.map(
      ({ id, name, description: about, operations }) => html`<section aria-labelledby="${id}">
      <h2 id="${id}"><a class="anchor" href="#${id}">${name}</a></h2>
      <p>${about}</p>
      ${operations.map(([path, { get }]) => operationSection({ path, operation: get, api }))}
    </section>`,
    )}
    <section aria-labelledby="objects">
      <h2 id="objects"><a class="anchor" href="#objects">Objects</a></h2>
      <p>What responses contain. Every member is always present, unless its description says otherwise.</p>
      ${objects.map(([name, schema]) => objectSection(name, schema))}
    </section>`;
  const contents = [
    ...groups.map(({ id, name, operations }) => ({
      id,
      text: name,
      parts: operations.map(([, { get }]) => ({ id: get.operationId, text: get.summary })),
    })),
    {
      id: 'objects',
      text: 'Objects',
      parts: objects.map(([name]) => ({ id: sectionId(name), text: name })),
    },
  ];
  return {
    page: docsPage({
      title: 'API reference',
      path: '/docs/reference',
      pages,
      contents,
      body,
      styles: ['/docs/reference.css'],
      scripts: ['/docs/reference.js'],
    }),
    sections: sectionsOf(contract, objects),
  };
}

function objectsOf({ components }: Contract): [string, Schema][] {
  return Object.entries(components.schemas).filter(([name, schema]) =>
    hasSection({ ...schema, name }),
  );
}

function objectSection(name: string, schema: Schema): Html {
  const id = sectionId(name);
  return html`<section class="object" id="${id}" aria-labelledby="${id}-title">
      <h3 id="${id}-title"><a class="anchor" href="#${id}">${name}</a></h3>
      ${description(schema.description, id)}
      ${members(schema, id)}
    </section>`;
}

function sectionsOf(contract: Contract, objects: [string, Schema][]): Section[] {
  const operations = Object.entries(contract.paths).map(([path, { get }]) => ({
    path: `/docs/reference#${get.operationId}`,
    title: get.summary,
    content: [path, get.description, ...get.parameters.map(({ name }) => name)].join(' '),
  }));
  const shown = objects.map(([name, schema]) => ({
    path: `/docs/reference#${sectionId(name)}`,
    title: name,
    content: Object.keys(schema.properties ?? {}).join(' '),
  }));
  return [...operations, ...shown];
}
