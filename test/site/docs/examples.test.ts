/**
 * Runs every example of the guides and of the reference, as it is shown, against the real proxy with the
 * sample catalogue: in bash with curl, in Node, and in Python. Each language runs all of its examples in
 * one process, so that the test stays fast. Nothing is installed for them.
 */
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { callSamples } from '#lib/pages/call-samples.ts';
import { parseContract, resolveContract } from '#site/docs/contract.ts';
import { GUIDES, type GuideName, guideText } from '#site/docs/docs.ts';
import { exampleCall } from '#site/docs/reference.ts';
import { makeSampleSnapshots } from '#test/catalogue/snapshots.ts';
import { makeFolder, ROOT, startProxy, testKey } from '#test/support/product.ts';
import { freePort } from '#test/support/servers/ports.ts';

interface Example {
  readonly name: string;
  readonly text: string;
}

const execute = promisify(execFile);
const key = testKey(1);
const folder = makeFolder();

// Link headers begin with PUBLIC_URL, so the port must be known before.
const port = String(await freePort());
const proxy = await startProxy(await makeSampleSnapshots([key]), {
  PORT: port,
  PUBLIC_URL: `http://127.0.0.1:${port}`,
});
const { headers } = await proxy.get('/stats', key.key);
const snapshot = String(headers['x-snapshot']);

/** The blocks of code of all guides in a language. Links in them lead to the proxy of this test. */
function guideExamples(language: string): Example[] {
  const fence = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms');
  // Those of "folder" need one, and images: folder.test.ts runs them.
  const guides = Object.keys(GUIDES).filter((guide) => guide !== 'folder');
  return guides.flatMap((guide) => {
    const text = guideText(guide as GuideName, { api: `${proxy.url}/api/v1`, defaultLimit: 120 });
    return [...text.matchAll(fence)].map(([, code = ''], index) => ({
      name: `${guide}-${index + 1}`,
      text: code,
    }));
  });
}

/** The code that the reference shows for each operation. */
function referenceExamples(language: string): Example[] {
  return Object.entries(resolveContract(parseContract()).paths).map(([path, { get }]) => {
    const call = exampleCall(path, get.parameters);
    const samples = callSamples(call, `${proxy.url}/api/v1`);
    const text = samples.find((sample) => sample.language === language)?.text ?? '';
    // The contract names a snapshot that this catalogue does not have.
    return { name: get.operationId, text: text.replaceAll(/\b0000\d\d-[0-9a-f]{12}\b/g, snapshot) };
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
): Promise<Map<string, string>> {
  const files = examples.map(({ name, text }) => {
    const file = path.join(folder, `${name}.${extension}`);
    writeFileSync(file, text);
    return file;
  });
  const program = path.join(folder, `run-all.${extension}`);
  writeFileSync(program, main);
  const env = { PATH: process.env.PATH, COVERS_KEY: key.key };
  const { stdout } = await execute(command, [program, ...files], { cwd: folder, env });
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
  expected: Record<string, RegExp>,
): void {
  for (const [name, pattern] of Object.entries(expected)) {
    expect([name, outputs.get(name)]).toEqual([name, expect.stringMatching(pattern)]);
  }
}

describe('every example works', { timeout: 60_000 }, () => {
  test('with curl', async () => {
    const examples = [...guideExamples('sh'), ...referenceExamples('curl')];
    expect(examples.length).toBeGreaterThan(25);
    const outputs = await run(['bash', 'sh'], examples, BASH);
    // The only example of an error is the one of the guide to limits and errors.
    const failed = [...outputs]
      .filter(([, text]) => text.includes('"error"'))
      .map(([name]) => name);
    expect(failed).toEqual(['limits-3']);
    expectOutputs(outputs, {
      'first-call-1': /"title":"Chrono Trigger"/,
      'pages-1': /"cover":/,
      'pages-2': /"title":"Super Mario World"/,
      'copy-2': /"data":\[\]/,
      'limits-1': /^x-ratelimit-limit: 1000000/im,
      'limits-2': /first: 200\nsecond: 304/,
      'limits-3': /per_page must be an integer.*\n400$/m,
      searchGames: /"total":[1-9]/,
    });
  });

  test('in JavaScript', async () => {
    const examples = [...guideExamples('js'), ...referenceExamples('javascript')];
    expect(examples.length).toBeGreaterThan(20);
    const outputs = await run([process.execPath, 'mjs'], examples, NODE);
    expectOutputs(outputs, {
      'first-call-1': /^Chrono Trigger \(1995\)$/m,
      'first-call-2': /^https:\/\/files\.covers\.example\//m,
      'search-1': /Final Fantasy VII/,
      'search-2': /^Did you mean:\nChrono Trigger$/m,
      'pages-1': /^5 of \d+ games, page 2 of \d+$/m,
      'pages-2': /^Super Mario World$/m,
      'copy-1': /^230 games of snapshot/m,
      'copy-2': new RegExp(`that of ${snapshot}\\.`),
      'limits-1': /^230 games$/m,
      'limits-2': /^230 games, then 304$/m,
      getGame: /Chrono Trigger/,
      getSnapshotFile: /"platforms"/,
    });
  });

  test('in Python', async () => {
    const examples = [...guideExamples('python'), ...referenceExamples('python')];
    expect(examples.length).toBeGreaterThan(20);
    const outputs = await run(['python3', 'py'], examples, PYTHON);
    expectOutputs(outputs, {
      'first-call-1': /^Chrono Trigger \(1995\)$/m,
      'search-2': /^Did you mean:\nChrono Trigger$/m,
      'pages-1': /^5 of \d+ games, page 2 of \d+$/m,
      'pages-2': /^Super Mario World$/m,
      'copy-1': /^230 games of snapshot/m,
      'copy-2': new RegExp(`that of ${snapshot}\\.`),
      'limits-1': /^230 games$/m,
      'limits-2': /^304$/m,
      getStats: /"games": 230/,
    });
  });
});

describe('the guides', () => {
  const facts = { api: 'https://api.covers.example/api/v1', defaultLimit: 1_200 };
  const all = Object.keys(GUIDES)
    .map((name) => guideText(name as GuideName, facts))
    .join('\n');

  test('name the limit of this installation, and leave no placeholder', () => {
    expect(all).toContain('in any 60 seconds: 1,200, unless');
    expect(all).not.toMatch(/\{\{|<!--/);
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
