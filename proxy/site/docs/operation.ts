/**
 * One operation of the reference: what it does, its parameters and responses on the left, code and an
 * example on the right, and a form that sends a real request. `reference.js` makes the form work.
 */
import { type Call, callSamples } from '../../../pages/call-samples.ts';
import { codeBlock, codeSamples } from '../../../pages/code-block.ts';
import { type Html, html } from '../../../pages/html.ts';
import type { Example, Operation, Parameter, Response } from './contract.ts';
import { allowed, description, hasSection, members, typeOf } from './schema.ts';

export interface OperationParts {
  /** As in the contract, such as `/games/{platformSlug}/{gameSlug}`. */
  readonly path: string;
  readonly operation: Operation;
  /** The address of the API, with the base path. */
  readonly api: string;
}

export function operationSection({ path, operation, api }: OperationParts): Html {
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
        <p><a href="/docs/errors">What to do about an error</a></p>
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
