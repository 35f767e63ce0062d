/**
 * Checks responses against openapi.yaml: the status, the headers, the body and the order of its
 * members.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { load } from 'js-yaml';

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type JsonObject = { [name: string]: Json };

interface Response {
  readonly status: number;
  readonly headers: Headers;
  /** The body, which is only checked if it is not encoded; undefined if it is not to be checked. */
  readonly text?: string | undefined;
}

/** As undici and node:http return them. */
type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

interface Header {
  readonly name: string;
  readonly isRequired: boolean;
  readonly isInteger: boolean;
  readonly validate: ValidateFunction;
}

interface ResponseRules {
  readonly headers: readonly Header[];
  /** Undefined for a response without a body that is JSON. */
  readonly body: { readonly schema: JsonObject; readonly validate: ValidateFunction } | undefined;
  /** Whether the body is the bytes of a file. */
  readonly isFile: boolean;
}

interface Operation {
  readonly segments: readonly string[];
  readonly responses: ReadonlyMap<number, ResponseRules>;
}

const CONTENT_TYPE = 'application/json; charset=utf-8';
/** The statuses of paths that are not operations, and of other methods on any path. */
const WITHOUT_OPERATION = [400, 401, 404, 429, 500, 503];
const OTHER_METHODS = [400, 405, 500];

/** Reads the contract from its file. */
export function readContract(): JsonObject {
  return load(readFileSync(join(import.meta.dirname, '../../openapi.yaml'), 'utf8')) as JsonObject;
}

/**
 * The contract with closed objects: a member that it does not name is a fault. As it is published, it has open
 * ones, so that clients accept what later versions add. A manifest stays open, as the format says.
 */
export function closeObjects(contract: JsonObject): JsonObject {
  const close = (value: Json): Json => {
    if (Array.isArray(value)) return value.map(close);
    if (value === null || typeof value !== 'object') return value;
    const closed = Object.fromEntries(
      Object.entries(value).map(([name, each]) => [name, name === 'Manifest' ? each : close(each)]),
    );
    const isObject = value.type === 'object' && typeof value.properties === 'object';
    return isObject ? { ...closed, additionalProperties: false } : closed;
  };
  return close(contract) as JsonObject;
}

/** Makes a validator of the JSON schemas in the contract, which may refer to one another. */
export function makeValidator(contract: JsonObject): (schema: JsonObject) => ValidateFunction {
  const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true });
  formats.default(ajv);
  ajv.addVocabulary(['components']);
  ajv.addSchema({ $id: 'contract:', components: contract.components });
  const rebased = (schema: Json): Json =>
    JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"contract:#/'));
  return (schema) => ajv.compile(rebased(schema) as JsonObject);
}

/** Resolves a `$ref`; returns any other value unchanged. */
export function resolve(contract: JsonObject, value: Json | undefined): JsonObject {
  const found = value as JsonObject;
  if (typeof found?.$ref !== 'string') return found;
  let target: Json | undefined = contract;
  for (const name of found.$ref.split('/').slice(1)) target = (target as JsonObject)[name];
  if (target === undefined) throw new Error(`The contract has no ${found.$ref}.`);
  return resolve(contract, target);
}

/** Compiling takes half a second, and all test files of a process need the same. */
let compiled: ReturnType<typeof compileContract> | undefined;

/**
 * Checks a response against openapi.yaml.
 * @param method as sent
 * @param path raw, with the base; of a query, only `include` and `facets` matter
 * @throws Error that names the request, the status and the faults
 */
export function checkContract(method: string, path: string, response: Response): void {
  compiled ??= compileContract(closeObjects(readContract()));
  const { contract, base, rulesOf, headerNames } = compiled;
  const { status, headers, text } = response;
  const faults: string[] = [];
  const [target = '', query] = path.split('?', 2);
  if (target !== base && !target.startsWith(`${base}/`)) {
    faults.push(`the path is not under ${base}`);
  } else {
    const rules = rulesOf(method, target.slice(base.length), status);
    if (rules === undefined) faults.push('the contract does not have this status here');
    else {
      const body = valuesOf(headers, 'Content-Encoding').length > 0 ? undefined : text;
      const included = optionalIn(new URLSearchParams(query));
      faults.push(...headerFaults(rules, headers, headerNames));
      faults.push(...bodyFaults(contract, rules, method, headers, body, included));
    }
  }
  if (faults.length === 0) return;
  throw new Error(`${method} ${path} was answered with ${status}, but ${faults.join('; ')}.`);
}

function compileContract(contract: JsonObject) {
  const compile = makeValidator(contract);
  const errors = new Map<number, ResponseRules>();
  const operations = Object.entries(contract.paths as JsonObject).map(([path, item]) => {
    const { responses } = (item as JsonObject).get as JsonObject;
    const rules = new Map<number, ResponseRules>();
    for (const [status, response] of Object.entries(responses as JsonObject)) {
      rules.set(Number(status), readRules(contract, compile, response));
    }
    for (const [status, rule] of rules) if (status >= 400) errors.set(status, rule);
    return { segments: path.split('/'), responses: rules };
  });
  const preflight = readRules(contract, compile, contract['x-preflight']);
  const all = [...operations.flatMap(({ responses }) => [...responses.values()]), preflight];
  return {
    contract,
    base: String((contract.servers as JsonObject[])[0]?.url),
    /** The headers that are documented anywhere. */
    headerNames: new Set(all.flatMap(({ headers }) => headers.map(({ name }) => name))),
    rulesOf(method: string, path: string, status: number): ResponseRules | undefined {
      if (method === 'OPTIONS' && status === 204) return preflight;
      if (method !== 'GET' && method !== 'HEAD') {
        return OTHER_METHODS.includes(status) ? errors.get(status) : undefined;
      }
      if (status === 405) return undefined;
      const operation = findOperation(operations, path);
      if (operation !== undefined) return operation.responses.get(status);
      return WITHOUT_OPERATION.includes(status) ? errors.get(status) : undefined;
    },
  };
}

function readRules(
  contract: JsonObject,
  compile: (schema: JsonObject) => ValidateFunction,
  value: Json | undefined,
): ResponseRules {
  const response = resolve(contract, value);
  const headers = Object.entries((response.headers ?? {}) as JsonObject).map(([name, entry]) => {
    const header = resolve(contract, entry);
    const schema = header.schema as JsonObject;
    return {
      name,
      isRequired: header.required === true,
      isInteger: resolve(contract, schema).type === 'integer',
      validate: compile(schema),
    };
  });
  const content = response.content as JsonObject | undefined;
  const isFile = ['octet-stream', 'x-tar'].some((type) => content?.[`application/${type}`]);
  const media = content?.['application/json'] as JsonObject | undefined;
  const schema = isFile ? undefined : (media?.schema as JsonObject | undefined);
  return { headers, body: schema && { schema, validate: compile(schema) }, isFile };
}

/**
 * A literal segment takes precedence over a template, so /covers/recent is not a cover. The path of a
 * file is the only parameter that may contain slashes.
 */
function findOperation(operations: readonly Operation[], path: string): Operation | undefined {
  const [, files, file] = /^(\/snapshot\/files\/)(.+)$/.exec(path) ?? [];
  const segments = (file === undefined ? path : `${files}file`).split('/');
  const isTemplate = (segment: string | undefined) => segment?.startsWith('{') === true;
  const fits = operations.filter(
    (operation) =>
      operation.segments.length === segments.length &&
      operation.segments.every((segment, index) =>
        isTemplate(segment) ? segments[index] !== '' : segment === segments[index],
      ),
  );
  const templates = (operation: Operation) => operation.segments.filter(isTemplate).length;
  return fits.sort((a, b) => templates(a) - templates(b))[0];
}

function headerFaults(
  rules: ResponseRules,
  headers: Headers,
  known: ReadonlySet<string>,
): string[] {
  const faults: string[] = [];
  const documented = new Set(rules.headers.map(({ name }) => name));
  for (const name of known) {
    if (!documented.has(name) && valuesOf(headers, name).length > 0) {
      faults.push(`the header ${name} does not belong to this response`);
    }
  }
  for (const { name, isRequired, isInteger, validate } of rules.headers) {
    const values = valuesOf(headers, name);
    const [value] = values;
    if (value === undefined) {
      if (isRequired) faults.push(`the header ${name} is missing`);
    } else if (values.length > 1) faults.push(`the header ${name} came ${values.length} times`);
    else if (!validate(isInteger && /^\d+$/.test(value) ? Number(value) : value)) {
      faults.push(`the header ${name} is ${JSON.stringify(value)}: ${messages(validate)}`);
    }
  }
  const [type] = valuesOf(headers, 'Content-Type');
  if (rules.body !== undefined && type !== CONTENT_TYPE) {
    faults.push(`the header Content-Type is ${JSON.stringify(type)}, not "${CONTENT_TYPE}"`);
  }
  return faults;
}

function valuesOf(headers: Headers, name: string): readonly string[] {
  return Object.entries(headers)
    .filter(([entry]) => entry.toLowerCase() === name.toLowerCase())
    .flatMap(([, value]) => value ?? []);
}

function bodyFaults(
  contract: JsonObject,
  { body, isFile }: ResponseRules,
  method: string,
  headers: Headers,
  text: string | undefined,
  included: readonly string[],
): string[] {
  if (isFile && method !== 'HEAD') return [];
  if (body === undefined || method === 'HEAD') return text ? ['there is a body'] : [];
  if (text === undefined) {
    const isEmpty = valuesOf(headers, 'Content-Length')[0] === '0';
    return isEmpty ? ['there is no body'] : [];
  }
  let value: Json;
  try {
    // Ids beyond 2^53 lose digits here, but they stay integers, which is all that a schema checks.
    value = JSON.parse(text);
  } catch {
    return [`the body is not JSON: ${JSON.stringify(text.slice(0, 80))}`];
  }
  if (!body.validate(value)) return [`the body is wrong: ${messages(body.validate)}`];
  return memberFaults(contract, body.schema, value, '', included);
}

/** The optional members that a request asks for. */
function optionalIn(query: URLSearchParams): string[] {
  const of = (name: string) => query.get(name)?.split(',') ?? [];
  return [...of('include'), ...of('facets'), ...(query.get('facets') ? ['facets'] : [])];
}

/**
 * Checks that objects have the members of their schema, in its order.
 * @param included the optional members that they have
 */
function memberFaults(
  contract: JsonObject,
  reference: JsonObject,
  value: Json,
  at: string,
  included: readonly string[],
): string[] {
  if (value === null || typeof value !== 'object') return [];
  const found = resolve(contract, reference);
  // In a choice of schemas, the first one is for objects.
  const schema = resolve(contract, (found.oneOf as JsonObject[] | undefined)?.[0] ?? found);
  if (Array.isArray(value)) {
    return value.flatMap((item, index) =>
      memberFaults(contract, schema.items as JsonObject, item, `${at}/${index}`, included),
    );
  }
  const properties = schema.properties as JsonObject;
  const required = schema.required as string[];
  const isOpen = schema.additionalProperties !== false;
  // An error has a parameter if one is wrong.
  const mayHave = (name: string) => (isOpen || name === 'parameter') && name in value;
  const expected = Object.keys(properties).filter(
    (name) => required.includes(name) || included.includes(name) || mayHave(name),
  );
  const members = Object.keys(value).filter((name) => !isOpen || name in properties);
  if (members.join() !== expected.join()) {
    const [is, not] = [members.join(', '), expected.join(', ')];
    return [`the members of ${at || 'the body'} are ${is}, not ${not}`];
  }
  return members.flatMap((name) =>
    memberFaults(contract, properties[name] as JsonObject, value[name], `${at}/${name}`, included),
  );
}

function messages({ errors }: ValidateFunction): string {
  return (errors ?? [])
    .slice(0, 5)
    .map(({ instancePath, message, params }) =>
      `${instancePath} ${message} ${JSON.stringify(params)}`.trim(),
    )
    .join(', ');
}
