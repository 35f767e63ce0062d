/**
 * Runs every example of the guides and of the reference, as it is shown, against the real proxy with the
 * sample catalogue and with one that has none of its names: in bash with curl, in Node, and in Python. Each
 * language runs all of its examples in one process, so that the test stays fast. Nothing is installed for them.
 */
import { execFile } from 'node:child_process';
import { readFileSync, realpathSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import type { Catalogue } from '#demo/catalogue/load.ts';
import { sampleCatalogue } from '#demo/catalogue/sample.ts';
import { CURRENT } from '#lib/format/layout.ts';
import { callSamples } from '#lib/pages/files/call-samples.js';
import { makeGeneration } from '#proxy/snapshot/generation.ts';
import { openFiles } from '#proxy/snapshot/open-files.ts';
import { parseContract, resolveContract } from '#site/docs/contract.ts';
import { GUIDES, type GuideName, guideText } from '#site/docs/docs.ts';
import { chooseExamples, fillIn, showGeneration } from '#site/docs/examples.ts';
import { exampleCall } from '#site/docs/reference.ts';
import { otherCatalogue } from '#test/catalogue/plain.ts';
import { makeSampleSnapshots, makeSqlite } from '#test/catalogue/snapshots.ts';
import { change } from '#test/support/databases.ts';
import {
  generate,
  makeFolder,
  ROOT,
  startProxy,
  testKey,
  writeKeys,
} from '#test/support/product.ts';
import { freePort } from '#test/support/servers/ports.ts';

interface Example {
  readonly name: string;
  readonly text: string;
}

const execute = promisify(execFile);
const key = testKey(1);
const folder = makeFolder();

/** Serves a catalogue. Link headers begin with PUBLIC_URL, so the port must be known before. */
async function serve(snapshotsDir: string) {
  const port = String(await freePort());
  const environment = { PORT: port, PUBLIC_URL: `http://127.0.0.1:${port}` };
  const dir = realpathSync(path.join(snapshotsDir, CURRENT));
  const generation = makeGeneration(openFiles({ dir, id: path.basename(dir) }));
  const proxy = await startProxy(snapshotsDir, environment);
  return { proxy, generation, examples: chooseExamples(generation) };
}
type Served = Awaited<ReturnType<typeof serve>>;

/** The snapshots of a catalogue whose last cover was approved after the first of them. */
async function makeGrown(catalogue: Catalogue): Promise<string> {
  const wait =
    "UPDATE covers SET status = 'waiting' WHERE id = (SELECT MAX(id) FROM covers WHERE status = 'approved')";
  const url = await makeSqlite(catalogue, wait);
  const dir = path.join(makeFolder(), 'snapshots');
  await generate(url, dir);
  await change(url, "UPDATE covers SET status = 'approved' WHERE status = 'waiting'");
  await generate(url, dir);
  writeKeys(dir, [key]);
  return dir;
}

const sample = await serve(await makeGrown(sampleCatalogue()));
const other = await serve(await makeGrown(otherCatalogue()));
const { proxy } = sample;

/** What the guides say to set. */
function environmentOf({ proxy }: Served) {
  return {
    PATH: process.env.PATH,
    COVERS_API: `${proxy.url}/api/v1`,
    COVERS_KEY: key.key,
  };
}

/** The blocks of code of all guides in a language. Links in them lead to a proxy of this test. */
function guideExamples(language: string, { proxy, examples }: Served): Example[] {
  const fence = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms');
  // Those of "folder" need one, and images: folder.test.ts runs them.
  const guides = Object.keys(GUIDES).filter((guide) => guide !== 'folder');
  return guides.flatMap((guide) => {
    const facts = { api: `${proxy.url}/api/v1`, defaultLimit: 120 };
    const text = fillIn(guideText(guide as GuideName, facts), examples);
    return [...text.matchAll(fence)].map(([, code = ''], index) => ({
      name: `${guide}-${index + 1}`,
      text: code,
    }));
  });
}

/** The code that the reference shows for each operation. */
function referenceExamples(language: string, { examples }: Served): Example[] {
  return Object.entries(resolveContract(parseContract()).paths).map(([path, { get }]) => {
    const call = exampleCall(path, get.parameters, examples);
    const samples = callSamples(call);
    const text = samples.find((sample) => sample.language === language)?.text ?? '';
    return { name: get.operationId, text };
  });
}

/**
 * Runs all examples in one process, each from a file of its own.
 * @param main the text of the program that runs the files in its arguments
 * @returns what each example prints
 */
async function run(
  [command, extension]: readonly [command: string, extension: string],
  examples: readonly Example[],
  main: string,
  served: Served,
): Promise<Map<string, string>> {
  const files = examples.map(({ name, text }) => {
    const file = path.join(folder, `${name}.${extension}`);
    writeFileSync(file, text);
    return file;
  });
  const program = path.join(folder, `run-all.${extension}`);
  writeFileSync(program, main);
  const env = environmentOf(served);
  // Some write files.
  const { stdout } = await execute(command, [program, ...files], { cwd: makeFolder(), env });
  const parts = stdout.split(/^=== .*\n/m).slice(1);
  return new Map(examples.map(({ name }, index) => [name, parts[index] ?? '']));
}

const BASH = `set -euo pipefail
for file in "$@"; do
  echo "=== $file"
  # curl itself says nothing about a status of 4xx.
  bash -euo pipefail "$file"
  echo
done
`;
const NODE = `for (const file of process.argv.slice(2)) {
  console.log('=== ' + file);
  await import(file);
}
`;
const PYTHON = `import runpy, sys
for file in sys.argv[1:]:
    print("===", file)
    runpy.run_path(file, run_name="__main__")
`;

function expectOutputs(
  outputs: ReadonlyMap<string, string>,
  expected: Record<string, RegExp | string>,
): void {
  for (const [name, found] of Object.entries(expected)) {
    const pattern =
      typeof found === 'string' ? expect.stringContaining(found) : expect.stringMatching(found);
    expect([name, outputs.get(name)]).toEqual([name, pattern]);
  }
}

describe.each([
  ['the sample', sample],
  ['a catalogue without any name of it', other],
])('on %s, every example works, and finds something', { timeout: 60_000 }, (_, served) => {
  const { platform, game, gameIds, title } = served.examples;
  const { games } = served.generation.manifest.counts;

  test('with curl', async () => {
    const all = [...guideExamples('sh', served), ...referenceExamples('curl', served)];
    expect(all.length).toBeGreaterThan(25);
    const outputs = await run(['bash', 'sh'], all, BASH, served);
    const having = (text: string) => [...outputs].filter(([, out]) => out.includes(text));
    // The only example of an error is the one of the guide to limits and errors.
    expect(having('"error"').map(([name]) => name)).toEqual(['limits-3']);
    for (const empty of [
      '"data":[]',
      '"match":null',
      '"missing":["',
      '"missing":[1',
      '"cover":null',
    ]) {
      expect([empty, having(empty).filter(([name]) => name !== 'pages-1')]).toEqual([empty, []]);
    }
    expectOutputs(outputs, {
      'first-call-1': `"slug":"${game}"`,
      'search-1': `"slug":"${game}"`,
      'pages-3': `"id":${gameIds.split(',')[1]}`,
      'limits-1': /^x-ratelimit-limit: 1000000/im,
      'limits-2': /first: 200\nsecond: 304/,
      'limits-3': /per_page must be an integer.*\n400$/m,
      searchGames: /"total":[1-9]/,
      listChanges: '"change":"added"',
    });
  });

  test('in JavaScript', async () => {
    const all = [...guideExamples('js', served), ...referenceExamples('javascript', served)];
    expect(all.length).toBeGreaterThan(20);
    const outputs = await run([process.execPath, 'mjs'], all, NODE, served);
    expectOutputs(outputs, {
      'first-call-1': `${title} (`,
      'first-call-2': /^https:\/\/files\.covers\.example\//m,
      'search-1': title,
      'search-2': /^Without one word:\n./m,
      'pages-1': /^5 of \d+ games$/m,
      'pages-2': title,
      'copy-1': /^added cover \S+\nFrom now on, your copy is that of/m,
      'limits-1': `${games} games`,
      'limits-2': `${games} games, then 304`,
      getGame: title,
      getSnapshotFile: /"platforms"/,
    });
  });

  test('in Python', async () => {
    const all = [...guideExamples('python', served), ...referenceExamples('python', served)];
    expect(all.length).toBeGreaterThan(20);
    const outputs = await run(['python3', 'py'], all, PYTHON, served);
    expectOutputs(outputs, {
      'first-call-1': `${title} (`,
      'search-2': /^Without one word:\n./m,
      'pages-1': /^5 of \d+ games$/m,
      'pages-2': title,
      'copy-1': `that of ${served.generation.id}.`,
      'keep-a-copy-1': `that of snapshot ${served.generation.id}`,
      'limits-1': `${games} games`,
      'limits-2': /^304$/m,
      getStats: `"games": ${games}`,
    });
  });

  test('beside a call stands its response, and every page is filled in', async () => {
    for (const path of [
      '/',
      '/docs/reference',
      '/docs/files',
      '/docs/client',
      ...Object.keys(GUIDES).map((name) => `/docs/${name}`),
    ]) {
      const page = await (await fetch(served.proxy.url + path)).text();
      expect([path, page]).toEqual([path, expect.not.stringMatching(/\{\{|%7B%7B/)]);
      expect([path, page]).toEqual([
        path,
        expect.not.stringMatching(/&quot;error&quot;: &quot;No/),
      ]);
      expect([path, longLinesOf(page)]).toEqual([path, []]);
      const shown = [...page.matchAll(/<code id=.*?<\/code>|value=".*?"/gs)].join();
      if (served === other) expect(shown).not.toMatch(/snes|chrono/i);
    }
    const start = await (await fetch(served.proxy.url)).text();
    expect(start).toContain(`/games/${platform}/${game}&quot; \\`);
    expect(start).toContain(`&quot;slug&quot;: &quot;${game}&quot;`);
    for (const page of ['copy', 'reference']) {
      const text = await (await fetch(`${served.proxy.url}/docs/${page}`)).text();
      expect(text).toContain(`-d since=${served.examples.since}`);
      expect(text).toContain('{\n      &quot;change&quot;: &quot;changed&quot;');
    }
  });
});

/** The lines of code of a page that have more than 60 characters. An address or a hash in a response stays whole. */
function longLinesOf(page: string): string[] {
  const blocks = [...page.matchAll(/<pre[^>]*><code[^>]*>(.*?)<\/code>/gs)];
  const plain = (text: string) => text.replaceAll(/&#?\w+;/g, '"');
  return blocks
    .flatMap(([, code = '']) => plain(code).split('\n'))
    .filter((line) => line.length > 60 && !/^ *"\w+": "(?:https?:|[0-9a-f]{64})[^ ]*$/.test(line));
}

test('every guide is Markdown at its address with ".md", and llms.txt lists them', async () => {
  const read = async (path: string) => {
    const response = await fetch(proxy.url + path);
    expect(response.headers.get('content-type')).toBe('text/markdown; charset=utf-8');
    return response.text();
  };
  const list = await read('/llms.txt');
  for (const name of [...Object.keys(GUIDES), 'files', 'client']) {
    const text = await read(`/docs/${name}.md`);
    const [, title = ''] = /^# (.+)\n/.exec(text) ?? [];
    expect(text).not.toContain('{{');
    expect(list).toContain(`- [${title}](${proxy.url}/docs/${name}.md): `);
    const page = await (await fetch(`${proxy.url}/docs/${name}`)).text();
    expect(page).toContain(`<h1>${title}</h1>`);
    expect(page).toContain(`<link rel="alternate" type="text/markdown" href="/docs/${name}.md">`);
  }
  expect(await read('/docs/first-call.md')).toContain(
    `curl "$COVERS_API/games/${sample.examples.platform}/${sample.examples.game}" \\\n`,
  );
  expect(list).toMatch(/^# .+\n\n> .+\n/);
  expect(list).toContain('- `/games/{platformSlug}/{gameSlug}`: ');
});

test('without an earlier snapshot, the pages say why the list of changes is empty', async () => {
  const { proxy } = await serve(await makeSampleSnapshots([key]));
  for (const page of ['copy', 'reference']) {
    const text = await (await fetch(`${proxy.url}/docs/${page}`)).text();
    expect(text).toContain('(Empty: this catalogue has no earlier snapshot yet.)');
  }
});

test('an interrupted copy goes on with the same snapshot only', async () => {
  const cwd = makeFolder();
  const tar = path.join(cwd, 'covers.tar');
  const copy = (served: Served, before = '') => {
    const [{ text } = { text: '' }] = guideExamples('sh', served).filter(
      ({ name }) => name === 'copy-1',
    );
    const env = environmentOf(served);
    return execute('bash', ['-c', before + text], { cwd, env });
  };
  await expect(copy(sample, 'tar() { false; }\n')).rejects.toThrow();
  const half = readFileSync(tar).subarray(0, 10_000);
  writeFileSync(tar, half);
  // As if the snapshot had been replaced.
  await expect(copy(other)).rejects.toThrow('412');
  expect(readFileSync(tar).equals(half)).toBe(true);
  await copy(sample);
  expect(readFileSync(path.join(cwd, 'covers', 'manifest.json'), 'utf8')).toContain(
    sample.generation.id,
  );
});

test('a response shows long ids as the API sends them', async () => {
  const catalogue = otherCatalogue();
  const long = '9223372036854775800';
  const games = [...catalogue.games].map(([id, ...rest], i) => [i === 0 ? long : id, ...rest]);
  const covers = [...catalogue.covers].map(([id, game, ...rest]) => [
    id,
    game === 1 ? long : game,
    ...rest,
  ]);
  const { generation, examples } = await serve(
    await makeGrown({ ...catalogue, games, covers } as Catalogue),
  );
  const text = await showGeneration(generation, examples).responseTo('/games/quartz/tale-1');
  expect(text).toContain(`"id": ${long},`);
});

test('the guides prefer regions that the catalogue has', () => {
  expect(other.examples.prefer).toBe('Europe');
  expect(sample.examples.prefer.split(',')).toHaveLength(2);
  for (const language of ['sh', 'js', 'python']) {
    const shown = guideExamples(language, other)
      .map(({ text }) => text)
      .join('\n');
    expect(shown).toMatch(/prefer(?:=|: '|": ")Europe/);
    expect(shown).not.toContain('USA');
  }
});

describe('the guides', () => {
  const facts = { api: 'https://api.covers.example/api/v1', defaultLimit: 1_200 };
  const all = Object.keys(GUIDES)
    .map((name) => guideText(name as GuideName, facts))
    .join('\n');

  test('name the limit of this installation, and leave no placeholder', () => {
    expect(all).toContain('send 1,200 requests in any 60 seconds, unless');
    expect(fillIn(all, chooseExamples(undefined))).not.toMatch(/\{\{|<!--/);
  });

  test('link to guides and headings that exist', async () => {
    const links = [...all.matchAll(/\]\((\/docs\/[\w-]+)(?:#([\w-]+))?\)/g)];
    expect(links.length).toBeGreaterThan(5);
    for (const [, address = '', anchor] of links) {
      const page = await (await fetch(proxy.url + address)).text();
      expect([address, page]).toEqual([address, expect.stringContaining(`id="${anchor ?? ''}`)]);
    }
  });

  test('quote messages that the API sends', () => {
    const quoted = [...all.matchAll(/`([A-Z][a-z]+(?: [A-Za-z]+)+)`/g)].map(([, text]) => text);
    expect(quoted).toHaveLength(3);
    const source = readFileSync(path.join(ROOT, 'proxy/api/send.ts'), 'utf8');
    expect(quoted.filter((text = '') => !source.includes(`'${text}'`))).toEqual([]);
  });
});
