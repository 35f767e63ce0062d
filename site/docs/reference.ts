/**
 * The reference: every operation of the contract by tag, with its parameters and responses, code to copy and
 * a form that sends a real request; then what all operations have in common, and every object that responses
 * contain. `reference.js` makes the forms work.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { codeSamples, responseBlock } from '../../lib/pages/code-block.ts';
import { addressOf, callSamples, type SampleCall } from '../../lib/pages/files/call-samples.js';
import { type Html, html } from '../../lib/pages/html.ts';
import type { Contract, Operation, Parameter, Response, Schema } from './contract.ts';
import { type Examples, exampleFor, type Shown } from './examples.ts';
import { type Article, type Heading, renderLine, renderMarkdown } from './markdown.ts';

/** An operation or an object. */
interface Part extends Heading {
  readonly render: (shown: Shown) => Html | Promise<Html>;
}

/** What does not depend on examples is made here, since it takes a tenth of a second. @param api with the base path */
export function makeReference(
  { tags, paths, components }: Contract,
  api: string,
): Omit<Article, 'title'> {
  const [first] = Object.values(paths);
  // What the first operation has, every operation has: a test holds the contract to it.
  const common = listsOf(first.get);
  const sections = tags.map(({ name, description }) => ({
    id: name.toLowerCase(),
    text: name,
    about: description,
    parts: Object.entries(paths)
      .filter(([, { get }]) => get.tags[0] === name)
      .map(([path, { get }]) => operationPart(path, get, common)),
  }));
  sections.push({
    id: 'common',
    text: 'Every operation',
    about: 'What all operations have in common. Above, each shows only what is its own.',
    parts: [
      listPart('Request headers', common.requestHeaders),
      listPart('Response headers', common.responseHeaders),
      listPart('Errors', common.others, WHAT_TO_DO),
    ],
  });
  sections.push({
    id: 'objects',
    text: 'Objects',
    about:
      'What responses contain. Every member is always present, unless its description says otherwise.',
    parts: Object.entries(components.schemas)
      .filter(([name, schema]) => hasSection({ ...schema, name }))
      .map(([name, schema]) => objectPart(name, schema)),
  });
  const lead = html`
    <p class="lead">Every endpoint, with its parameters, its responses, and code to copy. The address of the API is <code>${api}</code>. The code reads it from <code>COVERS_API</code>, and your key from <code>COVERS_KEY</code>: <a href="/docs/first-call#get-a-key">set both</a>. Programs can read the <a href="/openapi.json">OpenAPI document</a>, also <a href="/openapi.yaml">as YAML</a>; import the <a href="/collection.json">collection</a> into Postman, Bruno, Insomnia or Hoppscotch, and set its variable <code>key</code>.</p>
    <form class="needs-script" role="search" id="filter">
      <label for="words">Filter by endpoint, parameter or member</label>
      <input id="words" type="search" autocomplete="off" spellcheck="false">
      <p class="faint" role="status"></p>
    </form>`;
  async function render(shown: Shown): Promise<Html> {
    const made: Html[] = [];
    for (const { id, text, about, parts } of sections) {
      const bodies: Html[] = [];
      for (const part of parts) {
        // Each part takes up to a millisecond, and the thread serves others between two of them.
        await nextTurn();
        bodies.push(await part.render(shown));
      }
      made.push(html`<section aria-labelledby="${id}">
      <h2 id="${id}"><a class="anchor" href="#${id}">${text}</a></h2>
      <p>${about}</p>
      ${bodies}
    </section>`);
    }
    await nextTurn();
    return html`${lead}
    ${made}`;
  }
  return { render, headings: sections };
}

function objectPart(name: string, schema: Schema): Part {
  const id = sectionId(name);
  const body = html`<section class="ruled" data-part id="${id}" aria-labelledby="${id}-title">
      <h3 id="${id}-title"><a class="anchor" href="#${id}">${name}</a></h3>
      ${renderMarkdown(schema.description ?? '', id)}
      ${properties(schema, id)}
    </section>`;
  return { id, text: name, render: () => body };
}

const WHAT_TO_DO = html`<p><a href="/docs/limits#errors">What to do about an error</a></p>`;

/** A part that is a list. */
function listPart(text: string, members: Members, more?: Html): Part {
  const id = text.toLowerCase().replace(' ', '-');
  const body = html`<section class="ruled" data-part id="${id}" aria-labelledby="${id}-title">
      <h3 id="${id}-title"><a class="anchor" href="#${id}">${text}</a></h3>
      ${memberList(members, id)}
      ${more}
    </section>`;
  return { id, text, render: () => body };
}

/** Of an operation, the lists that are nearly the same for all. */
function listsOf({ parameters, responses }: Operation) {
  const all = Object.entries(responses);
  return {
    requestHeaders: parameters.filter((each) => each.in === 'header').map(named),
    responseHeaders: all
      .filter(([status]) => status < '300')
      .flatMap(([, { headers = {} }]) => Object.entries(headers))
      // "Required" is a word for requests.
      .map(([name, header]) => [name, { ...header, required: false }] as const),
    others: all.filter(([status]) => status >= '300'),
  };
}

/** The members that another list does not have with the same description, each once. */
function ownOf(members: Members, others: Members): Members {
  const isIn = (list: Members, [name, { description }]: Members[number]) =>
    list.some((each) => each[0] === name && each[1].description === description);
  return members.filter((each, at) => !isIn(others, each) && !isIn(members.slice(0, at), each));
}

function named(parameter: Parameter) {
  return [parameter.name, parameter] as const;
}

function operationPart(
  path: string,
  operation: Operation,
  common: ReturnType<typeof listsOf>,
): Part {
  const { operationId: id, summary, parameters } = operation;
  const ownParameters = parameters.filter((each) => each.in !== 'header').map(named);
  const about = html`<div>
      <h3 id="${id}-title"><a class="anchor" href="#${id}">${summary}</a></h3>
      <p><span class="state good">GET</span> <code>${path}</code></p>
      ${renderMarkdown(operation.description, id)}
      ${ownParameters.length > 0 && html`<h4>Parameters</h4>${memberList(ownParameters, id)}`}
      ${responses(operation, common)}
    </div>`;
  async function render({ examples, responseTo }: Shown): Promise<Html> {
    const call = exampleCall(path, parameters, examples);
    const response = call.path.startsWith('/snapshot/')
      ? fileExample(operation, examples)
      : await responseTo(addressOf(call, ''));
    return html`<section class="operation columns ruled" data-part id="${id}" aria-labelledby="${id}-title">
    ${about}
    <div>
      ${codeSamples({ id: `${id}-call`, name: summary }, callSamples(call))}
      ${responseBlock(id, response)}
      ${call.file === undefined && tryForm(call, parameters, id, examples)}
    </div>
  </section>`;
  }
  return { id, text: summary, render };
}

/** A call with examples of a generation. */
export function exampleCall(
  path: string,
  parameters: readonly Parameter[],
  examples: Examples,
): SampleCall {
  const values = (place: Parameter['in']) => {
    const named = parameters
      .filter((each) => each.in === place)
      .map((each) => [each.name, exampleOf(each, examples)] as const);
    return Object.fromEntries(named.filter(([, value]) => value !== ''));
  };
  const file = path === '/snapshot/archive' ? { file: 'snapshot.tar' } : {};
  return { path, pathValues: values('path'), query: values('query'), ...file };
}

function exampleOf({ example = '' }: Parameter, examples: Examples): string {
  return exampleFor(String(example), examples);
}

interface Member {
  readonly description?: string;
  /** Without one, no type is shown. */
  readonly schema?: Schema;
  readonly required?: boolean;
}

type Members = readonly (readonly [name: string, member: Member])[];

/**
 * What a request or a response consists of: parameters, header fields, statuses, members of an object. The
 * first paragraph of a description is shown, the others can be opened.
 */
function memberList(members: Members, idPrefix: string): Html {
  return html`<dl class="members">${members.map(([name, { description, schema, required }]) => {
    const id = `${idPrefix}-${name}`;
    const type = schema && renderLine(typeOf(schema) + (required === true ? ', required' : ''));
    const [first, ...others] = (description ?? schema?.description ?? '').split('\n\n');
    const more = others.length > 0 && renderMarkdown(others.join('\n\n'), `${id}-more`);
    return html`<div><dt><code>${name}</code> <span class="faint">${type}</span></dt><dd>${renderMarkdown(first, id)}${more && folded('More', more)}${schema && [allowed(schema), inner(schema, id)]}</dd></div>`;
  })}</dl>`;
}

/** The members of an object, with those of the objects in it that have no section. */
function properties({ properties = {} }: Schema, id: string): Html {
  return memberList(
    Object.entries(properties).map(([name, schema]) => [name, { schema }]),
    id,
  );
}

/** What is different from other operations. */
function responses(operation: Operation, common: ReturnType<typeof listsOf>): Html {
  const { operationId: id, responses } = operation;
  const lists = listsOf(operation);
  const folds = [
    ['Request headers', ownOf(lists.requestHeaders, common.requestHeaders)],
    ['Response headers', ownOf(lists.responseHeaders, common.responseHeaders)],
    ['Other responses', ownOf(lists.others, common.others)],
  ] as const;
  return html`<h4>Response</h4>
      ${Object.entries(responses).map(([status, response]) => status < '300' && success(status, response, id))}
      ${folds.map(([text, members]) => members.length > 0 && folded(text, memberList(members, id)))}
      <p class="faint">And what <a href="#common">every operation</a> has.</p>`;
}

function success(status: string, { description, content }: Response, id: string): Html {
  const schema = content?.['application/json']?.schema;
  const isObject = schema !== undefined && hasSection(schema);
  return html`<p><code>${status}</code> ${description}${isObject && html` The body is a ${renderLine(typeOf(schema))}.`}</p>
      ${!isObject && schema?.properties !== undefined && properties(schema, id)}`;
}

/** The response to the call of a file: an example of the contract. */
function fileExample({ responses }: Operation, examples: Examples): string {
  const [first] = Object.values(responses['200']?.content?.['application/json']?.examples ?? {});
  const named = (_: string, value: unknown) =>
    typeof value === 'string'
      ? value
          .split('/')
          .map((part) => exampleFor(part, examples))
          .join('/')
      : value;
  return JSON.stringify(first?.value ?? 'The bytes of the file', named, 2);
}

/** Not shown without scripts, because only a script can add the key to a request. */
function tryForm(
  call: SampleCall,
  parameters: readonly Parameter[],
  id: string,
  examples: Examples,
): Html {
  return html`<details class="card needs-script">
      <summary>Try it</summary>
      <form data-try="${call.path}">
        <div class="field"><label for="${id}-key">API key</label>
        <input id="${id}-key" data-key type="password" autocomplete="off" spellcheck="false" aria-describedby="${id}-hint"></div>
        <p class="faint" id="${id}-hint">It stays in this tab. <a href="/account/api-keys">Get a key</a></p>
        ${parameters.map((parameter) => field(parameter, exampleOf(parameter, examples), `${id}-try-${parameter.name}`))}
        <button>Send request</button>
        <p class="faint" role="status"></p>
        <div class="code" hidden><pre tabindex="0" role="group" aria-label="Response to your request"><code id="${id}-result"></code></pre></div>
      </form>
    </details>`;
}

function field(parameter: Parameter, example: string, id: string): Html {
  const { name, in: place, required = false, schema } = parameter;
  const options = schema.enum?.map(String);
  return html`<div class="field"><label for="${id}"><code>${name}</code>${required && html` <span class="faint">required</span>`}</label>
        ${
          options === undefined
            ? html`<input id="${id}" name="${name}" data-in="${place}" value="${example}" autocomplete="off" spellcheck="false"${required && html` required`}>`
            : html`<select id="${id}" name="${name}" data-in="${place}"><option value=""></option>${options.map((option) => html`<option>${option}</option>`)}</select>`
        }</div>`;
}

/** Whether a schema is an object that has a section of its own. */
function hasSection({ name, properties }: Schema): boolean {
  return name !== undefined && properties !== undefined && !/(?:Page|List|Batch|Error)$/.test(name);
}

function sectionId(name: string): string {
  return `object-${name.toLowerCase()}`;
}

/** The type of a schema in words, such as "array of Game" or "string or null", as Markdown. */
function typeOf(schema: Schema): string {
  const { name = '', items, oneOf, type = 'any', format } = schema;
  if (hasSection(schema)) return `[${name}](#${sectionId(name)})`;
  if (oneOf !== undefined) return oneOf.map(typeOf).join(' or ');
  if (items !== undefined) return `array of ${typeOf(items)}`;
  const types = [type].flat();
  return types
    .map((each) => (each === 'null' || !format ? each : `${each} (${format})`))
    .join(' or ');
}

/** What values are allowed, if the type does not say it. */
function allowed(schema: Schema): Html | undefined {
  const { minimum, maximum, maxLength } = schema;
  const hasRange = minimum !== undefined && maximum !== undefined;
  const facts = [
    schema.enum && `One of ${schema.enum.map(code).join(', ')}.`,
    schema.items?.enum && `Of ${schema.items.enum.map(code).join(', ')}, with commas between them.`,
    schema.const !== undefined && `Always ${code(schema.const)}.`,
    hasRange && maximum < Number.MAX_SAFE_INTEGER && `From ${minimum} to ${maximum}.`,
    maxLength && `At most ${maxLength} characters.`,
    schema.default !== undefined && `Default: ${code(schema.default)}.`,
  ].filter(Boolean);
  return facts.length > 0 ? html`<p class="faint">${renderLine(facts.join(' '))}</p>` : undefined;
}

function folded(summary: string, content: Html): Html {
  return html`<details><summary>${summary}</summary>${content}</details>`;
}

function inner(schema: Schema, idPrefix: string): Html | undefined {
  const object = schema.items ?? schema;
  if (object.properties === undefined || hasSection(object)) return undefined;
  return folded('Members', properties(object, idPrefix));
}

/** A value as Markdown. */
function code(value: unknown): string {
  return `\`${value}\``;
}
