/**
 * The contract for programs, with the address of this installation: OpenAPI in JSON and YAML, and a Postman
 * collection, which other programs read as well.
 *
 * The examples of parameters are names of the catalogue, so that what imports a document can send its requests as
 * they are. The texts are made once; for each generation, only the examples in them are replaced.
 */
import { dump } from 'js-yaml';
import { DEFAULT_NAME, type SiteFrame } from '../../lib/pages/layout.ts';
import { JSON_TYPE } from '../../proxy/http/response.ts';
import type { Contract, Operation, Parameter } from './contract.ts';
import { type Examples, exampleNameOf } from './examples.ts';

/** The contract with the name and the contact of this installation. */
export function ownContract(contract: object, { site }: SiteFrame): object {
  const { info } = contract as { readonly info: object };
  const { contact } = site;
  const name = site.name || DEFAULT_NAME;
  const link = contact.includes('://') ? { url: contact } : { email: contact };
  const own = contact === '' ? {} : { contact: { name, ...link } };
  return { ...contract, info: { ...info, title: name, ...own } };
}

/** @returns the types and texts of the documents by their paths, for the examples of a generation */
export function makeContractDocuments(whole: object, contract: Contract, api: string) {
  const served = withServer(whole, api);
  const texts = [
    ['/openapi.json', JSON_TYPE, JSON.stringify(served)],
    ['/openapi.yaml', 'application/yaml; charset=utf-8', dump(served, { lineWidth: -1 })],
    ['/collection.json', JSON_TYPE, JSON.stringify(collection(contract, api))],
  ] as const;
  return texts.map(([path, type, text]) => {
    return { path, type, contentFor: (examples: Examples) => fillExamples(text, examples) };
  });
}

/** What stands for an example until its generation is known. It has quotes in JSON and in YAML. */
const PLACEHOLDER = /(["'])\{example:(\w+):(\w+)\}\1/g;

function placeholder(name: string, kind: 'text' | 'number' | 'list'): string {
  return `{example:${name}:${kind}}`;
}

function fillExamples(text: string, examples: Examples): string {
  return text.replaceAll(PLACEHOLDER, (_, _quote, name, kind) => {
    const value = examples[name as keyof Examples];
    if (kind === 'text') return JSON.stringify(value);
    // As text, since an id may have more digits than a double can hold.
    const entries = value
      .split(',')
      .map((each) => (/^\d+$/.test(each) ? each : JSON.stringify(each)));
    return kind === 'list' ? `[${entries}]` : String(entries[0]);
  });
}

function withServer(whole: object, api: string): object {
  const copy = JSON.parse(JSON.stringify(whole), (_, value) => {
    if (value?.example === undefined || value.in === undefined) return value;
    const name = exampleNameOf(value.example);
    if (name === undefined) return value;
    const kind = typeof value.example === 'number' ? 'number' : 'text';
    const example = placeholder(name, Array.isArray(value.example) ? 'list' : kind);
    return { ...value, example };
  });
  return { ...copy, servers: [{ url: api }] };
}

// The collection: https://schema.postman.com/collection/json/v2.1.0/draft-07/docs

function collection({ info, tags, paths }: Contract, api: string): object {
  const requests = Object.entries(paths);
  return {
    info: {
      name: info.title,
      description: info.description,
      schema: 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json',
    },
    auth: { type: 'bearer', bearer: [{ key: 'token', value: '{{key}}', type: 'string' }] },
    variable: [
      { key: 'baseUrl', value: api },
      { key: 'key', value: '', description: 'Your API key' },
    ],
    item: tags.map(({ name, description }) => ({
      name,
      description,
      item: requests
        .filter(([, { get }]) => get.tags[0] === name)
        .map(([path, { get }]) => requestItem(path, get)),
    })),
  };
}

function requestItem(path: string, { summary, description, parameters }: Operation): object {
  const inPlace = (place: Parameter['in']) =>
    parameters.filter((each) => each.in === place).map(collectionParameter);
  const segments = path
    .slice(1)
    .replaceAll(/\{(\w+)\}/g, ':$1')
    .split('/');
  const url = {
    raw: ['{{baseUrl}}', ...segments].join('/'),
    host: ['{{baseUrl}}'],
    path: segments,
    query: inPlace('query'),
    variable: inPlace('path').map(({ disabled: _, ...each }) => each),
  };
  return { name: summary, request: { method: 'GET', description, header: inPlace('header'), url } };
}

/** A parameter without an example is there, but not sent. */
function collectionParameter({ name, description, example, schema }: Parameter) {
  const found = example === undefined ? undefined : exampleNameOf(example);
  const { default: fallback, items, enum: values = items?.enum } = schema;
  const value = found === undefined ? (example ?? fallback ?? values?.[0] ?? '') : '';
  return {
    key: name,
    value: found === undefined ? String(value) : placeholder(found, 'text'),
    description,
    disabled: example === undefined,
  };
}
