/** A schema of the contract as markup: its type in words, and its members. */
import { type Html, html, trusted } from '../../../pages/html.ts';
import type { Schema } from './contract.ts';
import { renderMarkdown } from './markdown.ts';

/** Where a link of the contract to an operation leads in the reference. */
function referenceLink(address: string): string {
  return address.replace(/^#\/\w+\//, '#');
}

/** A description of the contract, which is Markdown. */
export function description(text: string | undefined, idPrefix: string): Html | undefined {
  if (text === undefined) return undefined;
  return renderMarkdown(text, { idPrefix, linkOf: referenceLink });
}

/** Whether a schema is an object that has a section of its own. */
export function hasSection({ name, properties }: Schema): boolean {
  return name !== undefined && properties !== undefined && !/(?:Page|List|Batch|Error)$/.test(name);
}

export function sectionId(name: string): string {
  return `object-${name.toLowerCase()}`;
}

/** The type of a schema in words, such as "array of Game" or "string or null". */
export function typeOf(schema: Schema): Html {
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
export function members(schema: Schema, idPrefix: string): Html {
  return html`<dl class="members">${Object.entries(schema.properties ?? {}).map(
    ([name, member]) => html`<div>
      <dt><code>${name}</code> <span class="type">${typeOf(member)}</span></dt>
      <dd>${description(member.description, `${idPrefix}-${name}`)}${allowed(member)}${inner(member, `${idPrefix}-${name}`)}</dd>
    </div>`,
  )}</dl>`;
}

/** What values are allowed, if the type does not say it. */
export function allowed(schema: Schema): Html | undefined {
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
