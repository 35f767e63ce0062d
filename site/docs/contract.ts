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
  readonly maxItems?: number;
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
  readonly example?: string | number | readonly (string | number)[];
}

interface MediaContent {
  readonly schema?: Schema;
  readonly examples?: Readonly<Record<string, { summary?: string; value: unknown }>>;
}

export interface Response {
  readonly description: string;
  readonly headers?: Readonly<Record<string, { description?: string; schema?: Schema }>>;
  readonly content?: Readonly<Record<string, MediaContent>>;
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
  readonly info: { readonly title: string; readonly description: string };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, { readonly get: Operation }>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

const FILE = new URL('../../openapi.yaml', import.meta.url);

/** openapi.yaml as an object, unchanged. */
export function parseContract(): object {
  return load(readFileSync(FILE, 'utf8')) as object;
}

/** @param whole from {@link parseContract} */
export function resolveContract(whole: object): Contract {
  const { components } = whole as { components: Record<string, Record<string, object>> };
  /** A copy with what is referred to in the place of each "#/components/schemas/Game". */
  const resolve = (part: object): object =>
    JSON.parse(JSON.stringify(part), (_, value) => {
      if (typeof value?.$ref !== 'string') return value;
      const { $ref, ...own } = value;
      const [, , kind, name] = $ref.split('/');
      const named = kind === 'schemas' ? { name } : {};
      // What stands beside a reference replaces what it refers to.
      return { ...resolve(components[kind][name]), ...named, ...own };
    });
  return resolve(whole) as Contract;
}
