/** openapi.yaml is valid and complete, its examples fit, and the checker of responses detects faults. */
import { join } from 'node:path';
import { createConfig, lint } from '@redocly/openapi-core';
import { describe, expect, test } from 'vitest';
import {
  type JsonObject,
  makeContractChecker,
  makeValidator,
  readContract,
  resolve,
} from '../../support/openapi.ts';

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
          const [, target] = /^GET (\/[^,\s]*)/.exec(String(summary)) ?? [];
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
      '/changes',
      '/covers',
      '/covers/recent',
      '/covers/{coverId}',
      '/games',
      '/games/{platformSlug}/{gameSlug}',
      '/games/{platformSlug}/{gameSlug}/covers',
      '/platforms',
      '/platforms/{slug}',
      '/platforms/{slug}/covers',
      '/platforms/{slug}/games',
      '/search',
      '/snapshot',
      '/snapshot/files/{path}',
      '/stats',
    ]);
    for (const [, item] of paths) {
      expect(Object.keys(item)).toEqual(['get']);
    }
  });

  test.each(paths)('names every status of %s', (path, { get }) => {
    const statuses = Object.keys((get as JsonObject).responses as JsonObject);
    const missing = path.includes('{') || path === '/snapshot' ? ['404'] : [];
    const old = path === '/changes' ? ['410'] : [];
    const ranges = path === '/snapshot/files/{path}' ? ['206', '416'] : [];
    expect(statuses.sort()).toEqual(
      [
        '200',
        '304',
        '400',
        '401',
        '405',
        '412',
        '429',
        '500',
        '503',
        ...missing,
        ...ranges,
        ...old,
      ].sort(),
    );
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

  test('requires every member of every object and allows no others, except what include adds', () => {
    const INCLUDED: readonly string[] = (
      resolve(contract, components.parameters?.Include).schema as { enum: string[] }
    ).enum;
    let objects = 0;
    const visit = (schema: JsonObject, at: string): void => {
      // A manifest may have further members, as the specification of the format says.
      if (at.startsWith('Manifest')) return;
      if (schema.type === 'object') {
        objects++;
        const members = Object.keys(schema.properties as JsonObject);
        const optional = at === 'Game' ? INCLUDED : [];
        expect([at, schema.additionalProperties]).toEqual([at, false]);
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

describe('its examples', () => {
  const responses = documentedResponses();

  test.each(responses.filter(({ schema }) => schema !== undefined))(
    'fit the schema: $name',
    ({ schema, examples }) => {
      const validate = makeValidator(contract)(schema as JsonObject);
      expect(examples.length).toBeGreaterThan(0);
      for (const { value } of examples) {
        validate(value);
        expect(validate.errors).toBeNull();
      }
    },
  );

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

  test('pass the checker with the example headers, except 405, which a GET cannot get', () => {
    const { check } = makeContractChecker();
    for (const { name, path, status, headers, examples } of responses) {
      const ofPath = { path, value: undefined };
      for (const { path, value } of examples.length > 0 ? examples : [ofPath]) {
        const text = value === undefined ? undefined : JSON.stringify(value);
        const attempt = () => check('GET', path, status, headers, text);
        if (status === 405) expect(attempt, name).toThrow('does not have this status');
        else expect(attempt, name).not.toThrow();
      }
    }
  });
});

describe('the checker', () => {
  const { check } = makeContractChecker();
  const responses = documentedResponses();
  const find = (name: string) => {
    const found = responses.find((response) => response.name === name);
    if (found === undefined) throw new Error(`The contract has no ${name}.`);
    return { headers: { ...found.headers }, text: JSON.stringify(found.examples[0]?.value) };
  };

  test('accepts headers in any case, from fetch and undici, and ids above 2^53', () => {
    const { headers, text } = find('/covers/{coverId} 200');
    const big = text.replace('"id":50001', '"id":18446744073709551615');
    expect(big).not.toBe(text);
    check('GET', '/api/v1/covers/18446744073709551615?x=1', 200, new Headers(headers), big);
    const lower = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
    );
    check('GET', '/api/v1/covers/1', 200, lower, big);
    check('HEAD', '/api/v1/covers/1', 200, lower, undefined);
  });

  test('distinguishes covers/recent from a cover', () => {
    const list = find('/covers/recent 200');
    const one = find('/covers/{coverId} 200');
    check('GET', '/api/v1/covers/recent', 200, list.headers, list.text);
    check('GET', '/api/v1/covers/1', 200, one.headers, one.text);
    expect(() => check('GET', '/api/v1/covers/recent', 200, one.headers, one.text)).toThrow('body');
    expect(() => check('GET', '/api/v1/covers/1', 200, list.headers, list.text)).toThrow('body');
  });

  test('checks paths without an operation, other methods and preflights', () => {
    const notFound = find('/platforms/{slug} 404');
    for (const path of ['', '/', '/nothing', '/platforms/', '/platforms/a/b', '/Platforms']) {
      check('GET', `/api/v1${path}`, 404, notFound.headers, notFound.text);
      expect(() => check('GET', `/api/v1${path}`, 200, notFound.headers, '{}')).toThrow('status');
    }
    const refused = find('/platforms 405');
    check('POST', '/api/v1/platforms', 405, refused.headers, refused.text);
    expect(() => check('GET', '/api/v1/platforms', 405, refused.headers, refused.text)).toThrow(
      'status',
    );
    const preflight = {
      ...notFound.headers,
      'Access-Control-Allow-Methods': 'GET, HEAD, OPTIONS',
      'Access-Control-Allow-Headers':
        'Authorization, X-Api-Key, X-Snapshot, If-None-Match, Content-Type, Cache-Control, X-Request-Id, X-Requested-With, traceparent, tracestate',
    };
    check('OPTIONS', '/api/v1/anything', 204, preflight, undefined);
    expect(() => check('OPTIONS', '/api/v1/anything', 204, notFound.headers, '')).toThrow(
      'Access-Control-Allow-Methods is missing',
    );
  });

  const wrong: [string, string, (headers: Record<string, string | string[]>) => void, string?][] = [
    ['a missing header', 'X-Snapshot is missing', (headers) => delete headers['X-Snapshot']],
    ['a weak ETag', 'ETag is "W/', (headers) => Object.assign(headers, { ETag: 'W/"1"' })],
    [
      'a rate that is not a number',
      'X-RateLimit-Limit is "many"',
      (headers) => {
        headers['X-RateLimit-Limit'] = 'many';
      },
    ],
    [
      'a header that came twice',
      'Vary came 2 times',
      (headers) => {
        headers.Vary = ['Accept-Encoding', 'Accept-Encoding'];
      },
    ],
    [
      'another content type',
      'Content-Type is "text/html"',
      (headers) => {
        headers['Content-Type'] = 'text/html';
      },
    ],
    [
      'a header that belongs to another response',
      'Retry-After does not belong',
      (headers) => {
        headers['Retry-After'] = '3';
      },
    ],
    ['a body that is not JSON', 'not JSON', () => {}, '{"slug":'],
    [
      'a missing member',
      "required property 'url'",
      () => {},
      '{"slug":"a","name":"A","game_count":0,"cover_count":0}',
    ],
    [
      'an additional member',
      'additional',
      () => {},
      '{"slug":"a","name":"A","game_count":0,"cover_count":0,"url":"https://a.example/","extra":1}',
    ],
    [
      'a fraction for an integer',
      '/game_count must be integer',
      () => {},
      '{"slug":"a","name":"A","game_count":0.5,"cover_count":0,"url":"https://a.example/"}',
    ],
    [
      'null in a member that must not be null',
      '/name must be string',
      () => {},
      '{"slug":"a","name":null,"game_count":0,"cover_count":0,"url":"https://a.example/"}',
    ],
    [
      'an invalid address',
      '/url must match format',
      () => {},
      '{"slug":"a","name":"A","game_count":0,"cover_count":0,"url":"nowhere at all"}',
    ],
    [
      'members in another order',
      'the members of the body are name, slug',
      () => {},
      '{"name":"A","slug":"a","game_count":0,"cover_count":0,"url":"https://a.example/"}',
    ],
  ];

  test.each(wrong)('refuses %s', (_name, message, change, body) => {
    const { headers, text } = find('/platforms/{slug} 200');
    const request = ['GET', '/api/v1/platforms/snes'] as const;
    check(...request, 200, headers, text);
    change(headers);
    expect(() => check(...request, 200, headers, body ?? text)).toThrow(message);
  });

  test('refuses an undescribed status and names the request', () => {
    expect(() => check('GET', '/api/v1/stats?a=1', 404, {}, undefined)).toThrow(
      'GET /api/v1/stats?a=1 was answered with 404',
    );
  });

  test('refuses an error with another text', () => {
    const { headers } = find('/platforms/{slug} 404');
    const attempt = () => check('GET', '/api/v1/platforms/a', 404, headers, '{"error":"No"}');
    expect(attempt).toThrow('/error must be equal to constant');
  });

  test('refuses an unexpected body and a missing body', () => {
    const unchanged = find('/stats 304');
    check('GET', '/api/v1/stats', 304, unchanged.headers, undefined);
    expect(() => check('GET', '/api/v1/stats', 304, unchanged.headers, '{}')).toThrow('a body');
    const { headers, text } = find('/stats 200');
    expect(() => check('HEAD', '/api/v1/stats', 200, headers, text)).toThrow('there is a body');
    const empty = { ...headers, 'Content-Length': '0' };
    expect(() => check('GET', '/api/v1/stats', 200, empty, undefined)).toThrow('no body');
    expect(() => check('GET', '/api/v1/stats', 200, headers, '')).toThrow('not JSON');
  });

  test('refuses a page without Link and a Link without first', () => {
    const { headers, text } = find('/search 200');
    const link = headers.Link as string;
    check('GET', '/api/v1/search', 200, headers, text);
    headers.Link = link.replace('rel="first"', 'rel="start"');
    expect(() => check('GET', '/api/v1/search', 200, headers, text)).toThrow('the header Link is');
    delete headers.Link;
    expect(() => check('GET', '/api/v1/search', 200, headers, text)).toThrow('Link is missing');
  });

  test('refuses a path outside the base', () => {
    expect(() => check('GET', '/api/v10/stats', 200, {}, undefined)).toThrow('/api/v1');
  });
});
