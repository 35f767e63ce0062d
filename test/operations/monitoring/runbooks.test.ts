/**
 * The runbooks: every alert has a page, every page has its parts, and what the pages name exists. The
 * commands that only look are run against an installation.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import fastGlob from 'fast-glob';
import { beforeAll, describe, expect, test } from 'vitest';
import { ROOT, until } from '../../support/product.ts';
import { type Installation, startInstallation } from './installation.ts';
import { readAlertRules } from './monitored.ts';

const FOLDER = path.join(ROOT, 'operations/runbooks');
const EXECUTABLE = path.join(ROOT, 'bin/cover-catalogue');
const SECTIONS = ['What you see', 'Why', 'What to do', 'How to verify'];
const WITHOUT_ALERT = [
  'database-lost.md',
  'downgrade.md',
  'leaked-key.md',
  'restore.md',
  'take-down.md',
  'upgrade.md',
  'wrong-data.md',
];
/** Commands that change nothing, and need nothing but the programs of the installation. */
const LOOKING =
  /^(?:curl -sS http:\/\/127\.0\.0\.1:90|jq |df |du |cover-catalogue (?:--version|snapshot (?:list|verify|show)|keys (?:list|outbox|usage --)))/;

const index = read('README.md');
const pages = fastGlob.sync('*.md', { cwd: FOLDER, ignore: ['README.md'] }).toSorted();

function read(page: string): string {
  return readFileSync(path.join(FOLDER, page), 'utf8');
}

/** The lines of the code blocks of a page. */
function commandsIn(page: string): string[] {
  return [...read(page).matchAll(/^ {4,}(\S.*)$/gm)].map(([, line = '']) => line);
}

/** What a page runs with `cover-catalogue`, in code blocks and in the text: the words after it. */
function ownCommandsIn(page: string): string[] {
  const inText = [...read(page).matchAll(/`cover-catalogue ([^`]+)`/g)];
  const inBlocks = commandsIn(page).flatMap((line) => [
    ...line.matchAll(/\bcover-catalogue ([^|;&]+)/g),
  ]);
  return [...inText, ...inBlocks].map(([, words = '']) => words.trim());
}

function anchorsIn(file: string): string[] {
  return [...readFileSync(file, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  );
}

test('every alert has a page, and the index has all alerts and pages', () => {
  for (const { alert, annotations, labels } of readAlertRules()) {
    const page = path.basename(annotations.runbook_url);
    expect(pages).toContain(page);
    expect(index).toMatch(
      new RegExp(`\\| \`${alert}\` \\| ${labels.severity} \\| .*\\(${page}\\)`),
    );
    expect(read(page)).toContain(`\`${alert}\``);
  }
  const linked = [...index.matchAll(/\]\(([a-z-]+\.md)\)/g)].map(([, page]) => page);
  expect([...new Set(linked)].toSorted()).toEqual(pages);
  expect(pages).toEqual(expect.arrayContaining(WITHOUT_ALERT));
});

describe.each(pages)('%s', (page) => {
  test('says what you see, why, what to do, and how to verify that it helped', () => {
    const parts = read(page).split(/^## (.+)\n/m);
    expect(parts.filter((_, number) => number % 2 === 1)).toEqual(SECTIONS);
    for (const text of parts.slice(2).filter((_, number) => number % 2 === 0)) {
      expect(text.trim()).not.toBe('');
    }
    expect(commandsIn(page)).not.toEqual([]);
  });

  test('links to pages and headings that exist', () => {
    const links = [...read(page).matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => link);
    const broken = links.filter((link) => {
      const [name = '', anchor] = link.split('#', 2);
      const file = path.join(FOLDER, name === '' ? page : name);
      return !existsSync(file) || (anchor !== undefined && !anchorsIn(file).includes(anchor));
    });
    expect(broken).toEqual([]);
  });

  test('names metrics that OPERATIONS.md has', () => {
    const known = readFileSync(path.join(ROOT, 'OPERATIONS.md'), 'utf8');
    const names =
      read(page).match(/\b(?:api|limits|schedule|task|mail|replica)_[a-z]+_[a-z_]+\b/g) ?? [];
    const unknown = names
      .map((name) => name.replace(/_(?:bucket|sum|count)$/, ''))
      .filter((name) => !known.includes(`\`${name}`));
    expect(unknown).toEqual([]);
  });
});

test('the commands have verbs and options that exist', () => {
  const helps = new Map<string, string>();
  const helpOf = (command: string) => {
    const known = helps.get(command);
    if (known !== undefined) return known;
    const { status, stdout } = spawnSync(EXECUTABLE, [command, '--help'], { encoding: 'utf8' });
    helps.set(command, status === 0 ? stdout : '');
    return helps.get(command) ?? '';
  };
  const wrong = pages.flatMap(ownCommandsIn).filter((words) => {
    if (words.startsWith('--version')) return false;
    const [command = '', verb = ''] = words.split(' ');
    const help = /^[a-z]+$/.test(command) ? helpOf(command) : '';
    const hasVerb = !['keys', 'snapshot'].includes(command) || help.includes(`  ${verb}`);
    const options = words.replaceAll(/"[^"]*"/g, '').match(/ --[a-z-]+/g) ?? [];
    return help === '' || !hasVerb || options.some((option) => !help.includes(option.trim()));
  });
  expect(wrong).toEqual([]);
  expect(helps.size).toBeGreaterThan(3);
});

describe('with an installation', () => {
  let installation: Installation;

  beforeAll(async () => {
    installation = await startInstallation();
    await until(async () => (await installation.metrics('schedule')).includes('"published"} 1'));
  });

  test('the commands that only look succeed', () => {
    const { admin, databaseUrl, originDir } = installation;
    const portOf = (address: string) => String(address.split(':').at(-1));
    const commands = [...new Set(pages.flatMap(commandsIn))].filter((line) => LOOKING.test(line));
    expect(commands.length).toBeGreaterThan(15);
    // With one shell for all of them, each command needs only its own time.
    const script = commands
      .map((line) =>
        line
          .replace(':9090/', `:${portOf(admin.proxy)}/`)
          .replace(':9095/', `:${portOf(admin.schedule)}/`)
          .replace(':9096/', `:${portOf(admin.account)}/`)
          .replace(':9097/', `:${portOf(admin.replica)}/`),
      )
      .map((line, number) => `(${line}) >output 2>&1 || { echo "${number}: $?"; cat output; }`)
      .join('\n');
    const { stdout } = spawnSync('sh', ['-c', `set -o pipefail 2>/dev/null; ${script}`], {
      encoding: 'utf8',
      cwd: path.dirname(originDir),
      env: {
        PATH: `${path.dirname(EXECUTABLE)}:${process.env.PATH}`,
        DATABASE_URL: databaseUrl,
        SNAPSHOTS_DIR: originDir,
      },
    });
    // A metric that no request has counted yet is not there, so `grep` may find nothing.
    const failed = stdout
      .split('\n')
      .filter((line) => /^\d+: /.test(line))
      .map((line) => commands[Number(line.split(':')[0])] ?? '');
    expect(failed.filter((line) => !/\| grep .*(?:status=|_total|_bucket)/.test(line))).toEqual([]);
  });
});
