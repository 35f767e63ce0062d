/**
 * The package of the client, as `npm pack` makes it, installed in an empty folder: plain JavaScript,
 * strict TypeScript, a web page, and the recipes of its README.
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sampleCatalogue } from '../catalogue/sample.ts';
import { makeSqlite } from '../catalogue/snapshots.ts';
import { makeVisits, startChromium } from '../support/browser.ts';
import {
  generate,
  makeFolder,
  ROOT,
  type RunningProxy,
  startProxy,
  testKey,
  writeKeys,
} from '../support/product.ts';
import {
  CLIENT_FOLDER,
  compile,
  findNodes,
  GENERATORS_FOLDER,
  installClient,
  packClient,
  runScript,
} from './installed-client.ts';

const LARGEST_BUNDLE = 6 * 1024;
const key = testKey(1);
let proxy: RunningProxy;
let databaseUrl: string;
let snapshotsDir: string;
/** Where the package is installed. */
let folder: string;
let files: string[];

beforeAll(async () => {
  databaseUrl = await makeSqlite(sampleCatalogue());
  snapshotsDir = path.join(makeFolder(), 'snapshots');
  await generate(databaseUrl, snapshotsDir);
  writeKeys(snapshotsDir, [key]);
  proxy = await startProxy(snapshotsDir);
  const packed = await packClient();
  files = packed.files;
  folder = await installClient(packed.file);
});

afterAll(() => proxy?.stop());

/** Writes a file next to the package. @returns its path */
function write(name: string, text: string): string {
  const file = path.join(folder, name);
  writeFileSync(file, text.replaceAll('https://covers.example', proxy.url));
  return file;
}

const run = (name: string, text: string, node?: string) =>
  runScript(write(name, text), { COVERS_KEY: key.key }, node);

/** The code of a section of the README. */
function recipe(heading: string): string {
  const readme = readFileSync(path.join(CLIENT_FOLDER, 'README.md'), 'utf8');
  const [, section = ''] = readme.split(`${heading}\n`);
  const [, code = ''] = /```\w+\n(.*?)```/s.exec(section) ?? [];
  if (code === '') throw new Error(`The README of the client has no code under ${heading}.`);
  return code;
}

describe('the package', () => {
  test('contains JavaScript, types, the README and the licence', () => {
    const others = files.filter((file) => !/^dist\/.*\.(?:js|d\.ts)$/.test(file));
    expect(others.toSorted()).toEqual(['LICENSE', 'README.md', 'package.json']);
    expect(files).toContain('dist/client/offline.d.ts');
  });

  test(`has at most ${LARGEST_BUNDLE} bytes, bundled, minified and compressed with gzip`, async () => {
    const entry = write('bundle.js', "export * from 'cover-catalogue-client';");
    const esbuild = path.join(GENERATORS_FOLDER, 'node_modules/esbuild/bin/esbuild');
    const args = [esbuild, entry, '--bundle', '--minify', '--format=esm'];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    expect(stdout).toContain('X-Snapshot');
    expect(gzipSync(stdout, { level: 9 }).length).toBeLessThanOrEqual(LARGEST_BUNDLE);
  });
});

describe('strict TypeScript', () => {
  const own = undefined;
  const newest = path.join(ROOT, 'node_modules/typescript/bin/tsc');

  test.each([
    ['bundler', 'esnext', own],
    ['nodenext', 'nodenext', own],
    ['nodenext', 'nodenext', newest],
  ])('accepts correct uses and refuses wrong ones (%s)', async (moduleResolution, module, tsc) => {
    copyFileSync(
      path.join(import.meta.dirname, 'use-in-typescript.txt'),
      path.join(folder, 'use.ts'),
    );
    expect(await compile(folder, { moduleResolution, module }, tsc)).toBe('');
  });
});

describe('the recipes of the README', () => {
  test.each(findNodes())('the first example, with %s', async (node) => {
    expect(await run('first.js', recipe('# cover-catalogue-client'), node)).toBe(
      'Chrono Trigger (1995)\n',
    );
  });

  test('a list of games with covers', async () => {
    const lines = (await run('list.js', recipe('### A list of games with covers'))).split('\n');
    expect(lines.slice(0, 2)).toEqual([
      'ActRaiser: no cover',
      'Chrono Trigger: https://files.covers.example/snes/chrono-trigger/50219-original.jpg',
    ]);
    expect(lines).toHaveLength(11);
  });
});
