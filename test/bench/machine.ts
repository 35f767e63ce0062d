/** Describes the machine, the date and the versions of a section in RESULTS.md. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** Programs, and the arguments with which they print their version. */
const PROGRAMS: readonly (readonly [name: string, command: string, argument: string])[] = [
  ['nginx', 'nginx', '-v'],
  ['wrk', 'wrk', '-v'],
  ['Redis', 'redis-server', '--version'],
  ['MariaDB', 'mariadbd', '--version'],
];

/** @returns Markdown: a list of three lines */
export function describeMachine(): string {
  const [cpu] = os.cpus();
  const load = os.loadavg()[0].toFixed(1);
  const memory = Math.round(os.totalmem() / 2 ** 30);
  const versions = [
    `Node ${process.versions.node}`,
    ...PROGRAMS.map(([name, command, argument]) => `${name} ${versionOf(command, argument)}`),
    ...packageVersions(),
  ];
  return [
    `- ${cpu?.model.trim()}, ${os.availableParallelism()} cores, ${memory} GiB, ${os.type()} ${os.release()}`,
    `- ${new Date().toISOString().slice(0, 16).replace('T', ' ')} UTC, load before the run: ${load}`,
    `- ${versions.join(', ')}`,
  ].join('\n');
}

function versionOf(command: string, argument: string): string {
  try {
    // nginx prints to stderr, wrk exits with 1, and Debian installs servers in /usr/sbin.
    const text = execFileSync('sh', ['-c', `${command} ${argument} 2>&1 || true`], {
      encoding: 'utf8',
      env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin` },
    });
    return /\d+\.\d+\.\d+/.exec(text)?.[0] ?? 'absent';
  } catch {
    return 'absent';
  }
}

/** The installed alternatives, and the packages of the product that matter for speed. */
function packageVersions(): string[] {
  const own = path.join(import.meta.dirname, 'package.json');
  const names = Object.keys(JSON.parse(readFileSync(own, 'utf8')).dependencies);
  return [...names, 'mysql2', 'minisearch', 'lru-cache'].flatMap((name) => {
    const file = ['.', '../..']
      .map((up) => path.join(import.meta.dirname, up, 'node_modules', name, 'package.json'))
      .find((candidate) => existsSync(candidate));
    return file === undefined ? [] : `${name} ${JSON.parse(readFileSync(file, 'utf8')).version}`;
  });
}
