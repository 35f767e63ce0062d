/**
 * Packs the client as for the npm registry, and installs the package in an empty folder, as its users
 * do.
 */
import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Texts } from '#test/support/processes.ts';
import { makeFolder, ROOT } from '#test/support/product.ts';

const execute = promisify(execFile);

export const CLIENT_FOLDER = path.join(ROOT, 'client');

/** Packs the client. @returns the path of the package, and the files in it */
export async function packClient(): Promise<{ file: string; files: string[] }> {
  const folder = makeFolder();
  // When npm runs the tests, it hands on the settings of this project, which forbid scripts.
  const args = ['pack', '--json', '--ignore-scripts=false', '--pack-destination', folder];
  const { stdout } = await execute('npm', args, { cwd: CLIENT_FOLDER });
  // npm prints what the compiler prints before the JSON.
  const [{ filename, files }] = JSON.parse(stdout.slice(stdout.indexOf('[\n')));
  return {
    file: path.join(folder, filename),
    files: files.map((one: { path: string }) => one.path),
  };
}

/** Installs the package, with what it depends on, as npm would. @returns the folder */
export async function installClient(file: string): Promise<string> {
  const folder = makeFolder();
  writeFileSync(path.join(folder, 'package.json'), '{"private":true,"type":"module"}');
  const packages = path.join(folder, 'node_modules');
  const own = path.join(packages, 'cover-catalogue-client');
  mkdirSync(own, { recursive: true });
  await execute('tar', ['-xzf', file, '-C', own, '--strip-components=1']);
  const { dependencies } = JSON.parse(readFileSync(path.join(own, 'package.json'), 'utf8'));
  // Types of one of them come from this one.
  for (const name of [...Object.keys(dependencies), 'openapi-typescript-helpers']) {
    cpSync(path.join(CLIENT_FOLDER, 'node_modules', name), path.join(packages, name), {
      recursive: true,
    });
  }
  return folder;
}

/** Runs a script with a Node. @returns what it prints; an error contains what it prints to stderr */
export async function runScript(
  file: string,
  environment: Texts = {},
  node = process.execPath,
): Promise<string> {
  const options = { cwd: path.dirname(file), env: { PATH: process.env.PATH, ...environment } };
  return (await execute(node, [file], options)).stdout;
}

/** The Node of this machine, outside the packages of the project, and that of the tests. */
export function findNodes(): string[] {
  const folders = (process.env.PATH ?? '').split(path.delimiter);
  const own = folders
    .filter((folder) => !folder.includes('node_modules'))
    .map((folder) => path.join(folder, 'node'))
    .find((file) => existsSync(file));
  return [process.execPath, ...(own === undefined ? [] : [own])];
}

/** Compiles with a TypeScript. @returns the errors; empty if there are none */
export async function compile(
  folder: string,
  options: Readonly<Record<string, unknown>>,
  compiler = path.join(CLIENT_FOLDER, 'node_modules/typescript/bin/tsc'),
): Promise<string> {
  const compilerOptions = {
    strict: true,
    noEmit: true,
    target: 'es2022',
    types: [],
    lib: ['es2022', 'dom', 'dom.iterable'],
    ...options,
  };
  const config = path.join(folder, `tsconfig.${Object.values(options).join('-')}.json`);
  writeFileSync(config, JSON.stringify({ compilerOptions, include: ['*.ts'] }));
  try {
    await execute(process.execPath, [compiler, '--project', config]);
    return '';
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}
