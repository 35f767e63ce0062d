/** openapi.yaml is valid and complete, and its examples fit. */

import { join } from 'node:path';
import { createConfig, lint } from '@redocly/openapi-core';
import { describe, expect, test } from 'vitest';
import { FACETS } from '#find/search/query.ts';
import { SEARCH_PARAMETERS } from '#proxy/api/routes/search.ts';
import {
  checkContract,
  closeObjects,
  type JsonObject,
  makeValidator,
  readContract,
  resolve,
} from '#test/support/openapi.ts';

const contract = readContract();
const paths = Object.entries(contract.paths as Record<string, JsonObject>);
const components = contract.components as Record<string, Record<string, JsonObject>>;

interface DocumentedExample {
  readonly value: unknown;
  /** The path of a request that gets it. */
  readonly path: string;
}

interface DocumentedResponse {
  readonly name: string;
  /** The path of a request that may get this response. */
  readonly path: string;
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly schema: JsonObject | undefined;
  readonly examples: readonly DocumentedExample[];
}

/** Every response that the contract describes, with its examples. */
function documentedResponses(): DocumentedResponse[] {
  return paths.flatMap(([path, { get }]) =>
    Object.entries((get as JsonObject).responses as JsonObject).map(([status, value]) => {
      const response = resolve(contract, value);
      const anyPath = `/api/v1${path.replaceAll(/\{\w+\}/g, '1')}`;
      const headers: Record<string, string> = {};
      for (const [name, entry] of Object.entries(response.headers as JsonObject)) {
        const { example } = resolve(contract, entry);
        if (example !== undefined) headers[name] = String(example);
      }
      const content = response.content as Record<string, JsonObject> | undefined;
      // The files of a snapshot have no schema.
      const isFile = content?.['application/octet-stream'] !== undefined;
      const media = isFile ? undefined : content?.['application/json'];
      if (media !== undefined) headers['Content-Type'] = 'application/json; charset=utf-8';
      const examples = Object.values((media?.examples ?? {}) as JsonObject);
      return {
        name: `${path} ${status}`,
        path: anyPath,
        status: Number(status),
        headers,
        schema: media?.schema as JsonObject | undefined,
        examples: examples.map((entry) => {
          const { summary, value } = resolve(contract, entry);
          const [, target] = /^GET (\/\S*?)(?:, the first two)?$/.exec(String(summary)) ?? [];
          return { value, path: Number(status) === 200 ? `/api/v1${target}` : anyPath };
        }),
      };
    }),
  );
}

describe('the contract', () => {
  test('has no errors or warnings by the recommended rules', async () => {
    const config = await createConfig({ extends: ['recommended'] });
    const problems = await lint({
      ref: join(import.meta.dirname, '../../../openapi.yaml'),
      config,
    });
    expect(problems.map(({ ruleId, message }) => `${ruleId}: ${message}`)).toEqual([]);
  });

  test('describes every endpoint, only with GET', () => {
    expect(paths.map(([path]) => path).sort()).toEqual([
      ...['/changes', '/covers', '/covers/recent', '/covers/{coverId}'],
      ...['/games', '/games/{platformSlug}/{gameSlug}', '/games/{platformSlug}/{gameSlug}/covers'],
      ...['/match', '/platforms', '/platforms/{slug}', '/platforms/{slug}/covers'],
      ...['/platforms/{slug}/games', '/search', '/snapshot', '/snapshot/archive'],
      ...['/snapshot/files/{path}', '/stats'],
    ]);
    for (const [, item] of paths) {
      expect(Object.keys(item)).toEqual(['get']);
    }
  });

  test.each(paths)('names every status of %s', (path, { get }) => {
    const statuses = Object.keys((get as JsonObject).responses as JsonObject);
    const own = [
      ...(path.includes('{') || path.startsWith('/snapshot') ? ['404'] : []),
      ...(path === '/changes' ? ['410'] : []),
      ...(path.startsWith('/snapshot/') ? ['206', '416'] : []),
    ];
    const common = ['200', '304', '400', '401', '405', '412', '414', '429', '500', '503'];
    expect(statuses.sort()).toEqual([...common, ...own].sort());
  });

  test('describes every body', () => {
    expect(JSON.stringify(contract).match(/"application\/[a-z-]+":\{\}/g)).toBeNull();
  });

  test('does not promise that an integer has 64 bits with a sign, which an id may exceed', () => {
    expect(JSON.stringify(contract).match(/int64/g)).toBeNull();
    expect(components.schemas?.Id?.description).toContain('18446744073709551615');
  });

  test('has page and per_page exactly for the lists with pages', () => {
    for (const [path, item] of paths) {
      const names = ((item.get as JsonObject).parameters as JsonObject[]).map(
        (entry) => resolve(contract, entry).name,
      );
      const isPaged = /^\/platforms\/.+\/|^\/search$|^\/changes$/.test(path);
      expect([path, names.includes('page'), names.includes('per_page')]).toEqual([
        path,
        isPaged,
        isPaged,
      ]);
      expect(names).toContain('X-Snapshot');
    }
  });

  test('has arrays for lists with commas, and no name that languages reserve', () => {
    const lists = ['facets', 'include', 'prefer', 'cover_type', 'slugs', 'platform'];
    for (const [path, item] of paths) {
      for (const entry of (item.get as JsonObject).parameters as JsonObject[]) {
        const { name, schema, style, explode } = resolve(contract, entry);
        // Those of /match have "/" between them, for which OpenAPI has no style, and the one of /platforms one value.
        if (name === 'ids' ? path === '/match' : !lists.includes(String(name))) continue;
        if (path === '/platforms') continue;
        const type = (schema as JsonObject).type;
        expect([path, name, type, style, explode]).toEqual([path, name, 'array', 'form', false]);
      }
    }
    expect(Object.keys(components.schemas ?? {})).not.toContain('Match');
  });

  test('has no example for what a client may leave out, unless it stands for itself', () => {
    const withExample = paths.flatMap(([path, item]) =>
      ((item.get as JsonObject).parameters as JsonObject[])
        .map((entry) => resolve(contract, entry))
        .filter((entry) => entry.required !== true && entry.example !== undefined)
        .map(({ name }) => `${path} ${name}`),
    );
    expect(withExample).toEqual(['/games ids', '/search q', '/match platform', '/match names']);
    expect(components.schemas?.SnapshotId).not.toHaveProperty('examples');
  });

  test('has the parameters of a search that are read, and the facets that are counted', () => {
    const { get } = new Map(paths).get('/search') as JsonObject;
    const entries = ((get as JsonObject).parameters as JsonObject[]).map((entry) =>
      resolve(contract, entry),
    );
    const inQuery = entries.filter((entry) => entry.in === 'query').map(({ name }) => name);
    expect(inQuery.toSorted()).toEqual([...SEARCH_PARAMETERS].toSorted());
    const { schema } = entries.find(({ name }) => name === 'facets') as JsonObject;
    expect(((schema as JsonObject).items as JsonObject).enum).toEqual(FACETS);
    expect(Object.keys(components.schemas?.Facets?.properties as JsonObject)).toEqual(FACETS);
  });

  test('requires every member of every object, except what a request asks for', () => {
    const OPTIONAL: Readonly<Record<string, readonly string[]>> = {
      BadRequestError: ['parameter'],
      Game: ['cover', 'covers', 'titles'],
      ListedPlatform: ['aliases'],
      SearchPage: ['facets'],
      Facets: FACETS,
    };
    let objects = 0;
    const visit = (schema: JsonObject, at: string): void => {
      // A manifest may have further members, as the specification of the format says.
      if (at.startsWith('Manifest')) return;
      if (schema.type === 'object') {
        objects++;
        const members = Object.keys(schema.properties as JsonObject);
        const optional = OPTIONAL[at] ?? [];
        expect([at, schema.required]).toEqual([
          at,
          members.filter((name) => !optional.includes(name)),
        ]);
      }
      for (const [name, member] of Object.entries((schema.properties ?? {}) as JsonObject)) {
        visit(member as JsonObject, `${at}/${name}`);
      }
      if (schema.items !== undefined) visit(schema.items as JsonObject, `${at}/items`);
    };
    for (const [name, schema] of Object.entries(components.schemas ?? {})) visit(schema, name);
    expect(objects).toBeGreaterThan(10);
  });
});

describe('a member that the contract does not name', () => {
  const game = { ...(components.examples?.Game?.value as JsonObject), rating: 5 };
  const error = { error: 'Not found', hint: 'Look again' };
  const errorsOf = (of: JsonObject, name: string, value: JsonObject) => {
    const validate = makeValidator(of)({ $ref: `#/components/schemas/${name}` });
    validate(value);
    return validate.errors?.map(({ keyword }) => keyword) ?? [];
  };

  test('is accepted by clients, since later versions may add members', () => {
    expect(errorsOf(contract, 'Game', game)).toEqual([]);
    expect(errorsOf(contract, 'Error', error)).toEqual([]);
    expect(JSON.stringify(contract)).not.toContain('additionalProperties');
  });

  test('is a fault in a response of this version', () => {
    expect(errorsOf(closeObjects(contract), 'Game', game)).toEqual(['additionalProperties']);
    const response = { status: 404, headers: {}, text: JSON.stringify(error) };
    expect(() => checkContract('GET', '/api/v1/games/a/b', response)).toThrow(/hint/);
  });

  test('is a fault also where another response has it', () => {
    const of = closeObjects(contract);
    const first = (name: string) =>
      (components.examples as Record<string, { value: { data: JsonObject[] } }>)[name]?.value
        .data[0] as JsonObject;
    expect(errorsOf(of, 'Platform', first('PlatformAliases'))).toHaveLength(1);
    expect(errorsOf(of, 'Error', { error: 'Not found', parameter: 'q' })).toHaveLength(1);
    const cover = first('RecentCovers');
    expect(errorsOf(of, 'Cover', { ...cover, approved_at: null })).toEqual([]);
    expect(errorsOf(of, 'RecentCover', { ...cover, approved_at: null })).toHaveLength(1);
  });
});

describe('its examples', () => {
  const responses = documentedResponses();

  test('are there for every response with a schema', () => {
    const without = responses.filter(
      ({ schema, examples }) => schema !== undefined && examples.length === 0,
    );
    expect(without).toEqual([]);
  });

  test('of parameters fit their schemas', () => {
    const compile = makeValidator(contract);
    const parameters = paths.flatMap(
      ([, item]) => (item.get as JsonObject).parameters as JsonObject[],
    );
    const found = parameters
      .map((entry) => resolve(contract, entry))
      .filter(({ example }) => example !== undefined);
    expect(found.length).toBeGreaterThan(5);
    for (const { schema, example } of found) {
      const validate = compile(schema as JsonObject);
      validate(example);
      expect(validate.errors).toBeNull();
    }
  });

  test('fit the schemas, with the example headers, except 405, which a GET cannot get', () => {
    for (const { name, path, status, headers, examples } of responses) {
      const ofPath = { path, value: undefined };
      for (const { path, value } of examples.length > 0 ? examples : [ofPath]) {
        const text = value === undefined ? undefined : JSON.stringify(value);
        const attempt = () => checkContract('GET', path, { status, headers, text });
        if (status === 405) expect(attempt, name).toThrow('does not have this status');
        else expect(attempt, name).not.toThrow();
      }
    }
  });
});
