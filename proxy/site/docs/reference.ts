/**
 * The reference: every operation of the contract by tag, with its parameters and responses, code to copy and
 * a form that sends a real request; then every object that responses contain. `reference.js` makes the forms
 * work.
 */
import { type Call, callSamples } from '../../../pages/call-samples.ts';
import { codeBlock, codeSamples } from '../../../pages/code-block.ts';
import { type Html, html, trusted } from '../../../pages/html.ts';
import type { Contract, Example, Operation, Parameter, Response, Schema } from './contract.ts';
import type { ContentsEntry } from './docs.ts';
import { renderMarkdown } from './markdown.ts';

/** @param api the address of the API, with the base path */
export function makeReference(
  { tags, paths, components }: Contract,
  api: string,
): { readonly body: Html; readonly contents: readonly ContentsEntry[] } {
  const groups = tags.map((tag) => ({
    ...tag,
    id: tag.name.toLowerCase(),
    operations: Object.entries(paths).filter(([, { get }]) => get.tags[0] === tag.name),
  }));
  const objects = Object.entries(components.schemas).filter(([name, schema]) =>
    hasSection({ ...schema, name }),
  );
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
      ${operations.map(([path, { get }]) => operationSection(path, get, api))}
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
  return { body, contents };
}

function objectSection(name: string, schema: Schema): Html {
  const id = sectionId(name);
  return html`<section class="object" id="${id}" aria-labelledby="${id}-title">
      <h3 id="${id}-title"><a class="anchor" href="#${id}">${name}</a></h3>
      ${description(schema.description, id)}
      ${members(schema, id)}
    </section>`;
}

function operationSection(path: string, operation: Operation, api: string): Html {
  const { operationId: id, summary, parameters } = operation;
  const headers = parameters.filter((parameter) => parameter.in === 'header');
  const others = parameters.filter((parameter) => parameter.in !== 'header');
  const samples = callSamples(exampleCall(path, parameters), api);
  return html`<section class="operation" id="${id}" aria-labelledby="${id}-title">
    <div class="about">
      <h3 id="${id}-title"><a class="anchor" href="#${id}">${summary}</a></h3>
      <p class="endpoint"><span class="method">GET</span> <code>${path}</code></p>
      ${description(operation.description, id)}
      ${others.length > 0 && html`<h4>Parameters</h4>${parameterList(others, id)}`}
      <details><summary>Request headers</summary>${parameterList(headers, id)}</details>
      ${responses(operation)}
    </div>
    <div class="code-column">
      ${codeSamples({ id: `${id}-call`, name: summary }, samples)}
      ${examples(operation.responses['200'], id)}
      ${tryForm(path, parameters, id)}
    </div>
  </section>`;
}

/** A call with the examples of the contract, which work with the catalogue of the demo. */
export function exampleCall(path: string, parameters: readonly Parameter[]): Call {
  const values = (place: Parameter['in']) =>
    Object.fromEntries(
      parameters
        .filter((parameter) => parameter.in === place)
        .flatMap((parameter) => {
          const value = exampleOf(parameter);
          return value === '' ? [] : [[parameter.name, value]];
        }),
    );
  const pathValues = values('path');
  const query = values('query');
  return {
    path,
    ...(Object.keys(pathValues).length === 0 ? {} : { pathValues }),
    ...(Object.keys(query).length === 0 ? {} : { query }),
  };
}

function exampleOf({ example, required, schema }: Parameter): string {
  return String(example ?? (required === true ? (schema.examples?.[0] ?? '') : ''));
}

function parameterList(parameters: readonly Parameter[], id: string): Html {
  return html`<dl class="members">${parameters.map(
    (parameter) => html`<div>
      <dt><code>${parameter.name}</code> <span class="type">${typeOf(parameter.schema)}</span>${
        parameter.required === true && html` <span class="required">required</span>`
      }</dt>
      <dd>${shortened(parameter.description, `${id}-${parameter.name}`)}${allowed(parameter.schema)}</dd>
    </div>`,
  )}</dl>`;
}

/** The first paragraph of a description; the others can be opened. */
function shortened(text: string | undefined, idPrefix: string): Html | undefined {
  const [first, ...others] = (text ?? '').split('\n\n');
  if (others.length === 0) return description(text, idPrefix);
  return html`${description(first, idPrefix)}<details><summary>More</summary>${description(others.join('\n\n'), idPrefix)}</details>`;
}

function responses({ operationId: id, responses }: Operation): Html {
  const successes = Object.entries(responses).filter(([status]) => status < '300');
  const others = Object.entries(responses).filter(([status]) => status >= '300');
  return html`<h4>Response</h4>
      ${successes.map(([status, response]) => success(status, response, id))}
      <details><summary>Other responses</summary>
        <dl class="members">${others.map(
          ([status, response]) =>
            html`<div><dt><code>${status}</code></dt><dd>${description(response.description, `${id}-${status}`)}</dd></div>`,
        )}</dl>
        <p><a href="/docs/limits#errors">What to do about an error</a></p>
      </details>`;
}

function success(status: string, response: Response, id: string): Html {
  const schema = response.content?.['application/json']?.schema;
  const headers = Object.entries(response.headers ?? {});
  return html`<p><code>${status}</code> ${response.description}${
    schema !== undefined && hasSection(schema) && html` The body is a ${typeOf(schema)}.`
  }</p>
      ${schema !== undefined && !hasSection(schema) && schema.properties !== undefined && members(schema, id)}
      <details><summary>Response headers${status !== '200' && html` with ${status}`}</summary>
        <dl class="members">${headers.map(
          ([name, header]) =>
            html`<div><dt><code>${name}</code></dt><dd>${description(header.description, `${id}-${name}`)}</dd></div>`,
        )}</dl>
      </details>`;
}

function examples(response: Response | undefined, id: string): Html | undefined {
  const all = Object.values(response?.content?.['application/json']?.examples ?? {});
  const [first, ...others] = all;
  if (first === undefined) return undefined;
  const block = (example: Example, index: number) =>
    codeBlock({
      id: `${id}-example-${index}`,
      name: 'Response',
      text: JSON.stringify(example.value, null, 2),
    });
  return html`<div class="example"><p class="caption">Response${first.summary !== undefined && html` to <code>${first.summary}</code>`}</p>${block(first, 0)}</div>
      ${others.map(
        (example, index) =>
          html`<details class="example"><summary>${example.summary ?? 'Another response'}</summary>${block(example, index + 1)}</details>`,
      )}`;
}

/** Not shown without scripts, because only a script can add the key to a request. */
function tryForm(path: string, parameters: readonly Parameter[], id: string): Html {
  return html`<details class="try needs-script" data-try="${path}">
      <summary>Try it</summary>
      <form>
        ${parameters.map((parameter) => field(parameter, `${id}-try-${parameter.name}`))}
        <button>Send request</button>
        <p class="try-status" role="status"></p>
        <div class="code" hidden><pre class="scrolls" tabindex="0" role="group" aria-label="Response to your request"><code id="${id}-result"></code></pre></div>
      </form>
    </details>`;
}

function field(parameter: Parameter, id: string): Html {
  const { name, in: place, required = false, schema } = parameter;
  const options = schema.enum?.map(String);
  return html`<div class="field"><label for="${id}"><code>${name}</code>${required && html` <span class="required">required</span>`}</label>
        ${
          options === undefined
            ? html`<input id="${id}" name="${name}" data-in="${place}" value="${exampleOf(parameter)}" autocomplete="off" spellcheck="false"${required && html` required`}>`
            : html`<select id="${id}" name="${name}" data-in="${place}"><option value=""></option>${options.map((option) => html`<option>${option}</option>`)}</select>`
        }</div>`;
}

/** A description of the contract, which is Markdown. */
function description(text: string | undefined, idPrefix: string): Html | undefined {
  return text === undefined ? undefined : renderMarkdown(text, idPrefix);
}

/** Whether a schema is an object that has a section of its own. */
function hasSection({ name, properties }: Schema): boolean {
  return name !== undefined && properties !== undefined && !/(?:Page|List|Batch|Error)$/.test(name);
}

function sectionId(name: string): string {
  return `object-${name.toLowerCase()}`;
}

/** The type of a schema in words, such as "array of Game" or "string or null". */
function typeOf(schema: Schema): Html {
  const { name, items, oneOf, type, format } = schema;
  if (hasSection(schema)) return html`<a href="#${sectionId(name ?? '')}">${name}</a>`;
  if (oneOf !== undefined) return joined(oneOf.map(typeOf), ' or ');
  if (items !== undefined) return html`array of ${typeOf(items)}`;
  const types = [type ?? []].flat();
  const shown = types.map((each) =>
    each === 'null' || format === undefined ? each : `${each} (${format})`,
  );
  return html`${shown.length === 0 ? 'any' : shown.join(' or ')}`;
}

/** The members of an object, with those of the objects in it that have no section. */
function members(schema: Schema, idPrefix: string): Html {
  return html`<dl class="members">${Object.entries(schema.properties ?? {}).map(
    ([name, member]) => html`<div>
      <dt><code>${name}</code> <span class="type">${typeOf(member)}</span></dt>
      <dd>${description(member.description, `${idPrefix}-${name}`)}${allowed(member)}${inner(member, `${idPrefix}-${name}`)}</dd>
    </div>`,
  )}</dl>`;
}

/** What values are allowed, if the type does not say it. */
function allowed(schema: Schema): Html | undefined {
  const { minimum, maximum, maxLength } = schema;
  const facts = [
    schema.enum !== undefined && html`One of ${joined(schema.enum.map(code), ', ')}.`,
    schema.const !== undefined && html`Always ${code(schema.const)}.`,
    minimum !== undefined &&
      maximum !== undefined &&
      maximum < Number.MAX_SAFE_INTEGER &&
      html`From ${minimum} to ${maximum}.`,
    maxLength !== undefined && html`At most ${maxLength} characters.`,
    schema.default !== undefined && html`Default: ${code(schema.default)}.`,
  ].filter((fact) => fact !== false);
  if (facts.length === 0) return undefined;
  return html`<p class="allowed">${joined(facts, ' ')}</p>`;
}

function inner(schema: Schema, idPrefix: string): Html | undefined {
  const object = schema.items ?? schema;
  if (object.properties === undefined || hasSection(object)) return undefined;
  return html`<details><summary>Members</summary>${members(object, idPrefix)}</details>`;
}

function code(value: unknown): Html {
  return html`<code>${String(value)}</code>`;
}

function joined(pieces: readonly Html[], between: string): Html {
  return trusted(pieces.map(String).join(between));
}
