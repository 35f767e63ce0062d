/** operations/container/: what the image contains, and what the containers may do. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import fastGlob from 'fast-glob';
import { load, YAML11_SCHEMA } from 'js-yaml';
import { expect, test } from 'vitest';
import { ROOT } from '#test/support/product.ts';

const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8');
interface Compose {
  readonly services: Readonly<
    Record<
      string,
      {
        readonly read_only: boolean;
        readonly cap_drop: readonly string[];
        readonly security_opt: readonly string[];
        readonly ports: readonly string[];
        readonly env_file: string;
      }
    >
  >;
}

const compose = load(read('operations/container/compose.yaml'), {
  // With `<<`, which merges mappings.
  schema: YAML11_SCHEMA,
}) as Compose;

test('the image gets every program, and everything that the programs import', () => {
  const copied = [...read('operations/container/Containerfile').matchAll(/^COPY (\w+) \1$/gm)];
  const folders = copied.map(([, folder]) => folder as string);
  expect(folders).toEqual(expect.arrayContaining(['bin', 'cli']));
  const sources = fastGlob.sync(
    folders.map((folder) => `${folder}/**/*.ts`),
    { cwd: ROOT },
  );
  const imported = sources.flatMap((file) =>
    // Node removes imports of types.
    [
      ...read(file)
        .replaceAll(/^(?:im|ex)port type .*?;$/gms, '')
        .matchAll(/(?:from|import|URL\()\s*\(?'(\.[^']+)'/g),
    ].map(([, specifier]) => path.posix.join(path.posix.dirname(file), specifier as string)),
  );
  const missing = imported.filter((file) => !folders.includes(file.split('/', 1)[0]));
  for (const file of missing) expect(read('operations/container/Containerfile')).toContain(file);
  expect([...new Set(missing)].toSorted()).toEqual([
    'CHANGELOG.md',
    'client/README.md',
    'openapi.yaml',
    'package.json',
  ]);
});

test.each(Object.keys(compose.services))(
  'the container of %s has no rights that it does not need',
  (name) => {
    const { read_only, cap_drop, security_opt, ports, env_file } = compose.services[name];
    expect({ read_only, cap_drop, security_opt }).toEqual({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
    });
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:(\d+):\1$/);
    expect(read(`operations/environment/${env_file}`)).toContain('PUBLIC_URL=');
  },
);
