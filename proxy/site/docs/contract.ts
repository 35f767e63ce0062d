/**
 * The parts of openapi.yaml that the reference shows. References of parameters, responses and examples
 * are resolved. A schema keeps the name that it has in the contract, because objects are shown once.
 */
import { readFileSync } from 'node:fs';
import { load } from 'js-yaml';

export interface Schema {
  /** The name of the schema in the contract, if it has one. */
  readonly name?: string;
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly examples?: readonly unknown[];
  readonly items?: Schema;
  readonly oneOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
  readonly example?: string | number;
}

interface Content {
  readonly schema?: Schema;
  readonly examples?: Readonly<Record<string, { summary?: string; value: unknown }>>;
}

export interface Response {
  readonly description: string;
  readonly headers?: Readonly<Record<string, { readonly description?: string }>>;
  readonly content?: Readonly<Record<string, Content>>;
}

export interface Operation {
  readonly operationId: string;
  readonly tags: readonly [string];
  readonly summary: string;
  readonly description: string;
  readonly parameters: readonly Parameter[];
  readonly responses: Readonly<Record<string, Response>>;
}

export interface Contract {
  readonly info: { readonly title: string; readonly version: string };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, { readonly get: Operation }>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

const FILE = new URL('../../../openapi.yaml', import.meta.url);

/** openapi.yaml as an object, unchanged. */
export function parseContract(): object {
  return load(readFileSync(FILE, 'utf8')) as object;
}

/** @param whole from {@link parseContract} */
export function resolveContract(whole: object): Contract {
  const resolve = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(resolve);
    if (!isObject(value)) return value;
    const { $ref, ...own } = value;
    const members = Object.entries(own).map(([name, each]) => [name, resolve(each)]);
    if (typeof $ref !== 'string') return Object.fromEntries(members);
    const [, , kind, name] = $ref.split('/');
    const named = kind === 'schemas' ? { name } : {};
    // What stands beside a reference replaces what it refers to.
    return {
      ...(resolve(targetOf(whole, $ref)) as object),
      ...named,
      ...Object.fromEntries(members),
    };
  };
  return resolve(whole) as Contract;
}

/** @param $ref such as "#/components/schemas/Game" */
function targetOf(whole: object, $ref: string): unknown {
  const names = $ref.split('/').slice(1);
  const target = names.reduce<unknown>((at, name) => (isObject(at) ? at[name] : undefined), whole);
  if (target === undefined)
    throw new Error(`openapi.yaml refers to ${$ref}, which does not exist.`);
  return target;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
