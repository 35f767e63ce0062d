/**
 * Compares `format/README.md` with the code: its tables with a generated folder, its numbers with the
 * constants, and its worked example with the output of a shell.
 */

import { spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { runSnapshot } from '../../commands/run-snapshot.ts';
import { LARGEST_DIFFERENCE, LONGEST_LINE } from '../../format/difference-file.ts';
import { LARGEST_HOLD_FILE, LONGEST_REASON } from '../../format/hold-file.ts';
import { type Column, openColumns } from '../../format/index/columns.ts';
import { slugHash } from '../../format/index/record-index.ts';
import { LONGEST_QUERY } from '../../format/index/words.ts';
import { LARGEST_KEYS_FILE } from '../../format/keys-file.ts';
import {
  CHANGES,
  COVER_INDEX,
  CURRENT,
  FILTER_INDEX,
  FIXED_FILES,
  FORMAT_VERSION,
  GAME_INDEX,
  HOLD_FILE,
  isGenerationId,
  isSlug,
  MANIFEST,
  PATH_INDEX,
  UNFINISHED_PREFIX,
  WORD_INDEX,
} from '../../format/layout.ts';
import { LARGEST_MANIFEST } from '../../format/manifest.ts';
import {
  EMPTY_PACK,
  listHead,
  listTail,
  PACK_HEAD,
  PACK_TAIL,
  pageTail,
  RECORD_SEPARATOR,
} from '../../format/pack.ts';
import { signedText } from '../../format/pointer.ts';
import {
  objectList,
  POINTER,
  remoteDelta,
  remoteFile,
  remoteManifest,
} from '../../format/remote-layout.ts';
import { runGenerator } from '../../generator/cli/run-generator.ts';
import { KEPT_DAYS } from '../../store/changes/keep-differences.ts';
import { KEPT_GENERATIONS } from '../../store/prune.ts';
import { FIXTURE_SETTINGS, fixtureCatalogue, makeFixture } from '../catalogue/fixture.ts';
import { makeSampleSnapshots, makeSqlite } from '../catalogue/snapshots.ts';
import { generate, makeFolder, ROOT, runCommand } from '../support/product.ts';
import { codesOf, namesOf, readme, tablesOf } from './readme-tables.ts';

/** The paths of the members of a JSON value: "a", "a.b", "a[].b". */
function membersOf(value: unknown, prefix = ''): string[] {
  if (Array.isArray(value)) return [...new Set(value.flatMap((one) => membersOf(one, prefix)))];
  if (typeof value !== 'object' || value === null) return [prefix];
  return Object.entries(value).flatMap(([name, member]) => {
    const at = prefix === '' ? name : `${prefix}.${name}`;
    if (!Array.isArray(member)) return membersOf(member, at);
    return typeof member[0] === 'object' ? membersOf(member, `${at}[]`) : [at];
  });
}

let dir: string;
let generation: string;
const read = (name: string) => readFileSync(path.join(generation, name), 'utf8');
const bytesOf = (name: string) => new Uint8Array(readFileSync(path.join(generation, name)));

beforeAll(async () => {
  dir = path.join(makeFolder(), 'snapshots');
  await makeFixture(dir);
  generation = path.join(dir, CURRENT);
});

/** The report of a run that left out a row, and warns about another one. */
async function makeReport() {
  const catalogue = fixtureCatalogue();
  const odd = [509, 11, null, null, 'approved', '0000-00-00 00:00:00'];
  const snapshotsDir = path.join(makeFolder(), 'snapshots');
  const url = await makeSqlite({ ...catalogue, covers: [...catalogue.covers, odd] });
  await generate(url, snapshotsDir);
  return JSON.parse(readFileSync(path.join(snapshotsDir, 'report.json'), 'utf8'));
}

describe('its tables contain', () => {
  test('exactly the files of a snapshots folder and of a generation', () => {
    const [folder, files] = tablesOf('## The snapshots folder').map(namesOf);
    expect(folder).toEqual([
      'current',
      'generations/<id>/',
      'changes/<id>.jsonl',
      'keys.json',
      'status.json',
      'report.json',
      'hold.json',
      'maintenance',
      'lock',
      'lock.holder',
      'replica.json',
      'accepted.json',
      'compile-cache/',
      'row-cache/',
      'pull/',
      'current.json',
      'push/',
      'proxy/key-usage-<PORT>.json',
    ]);
    const packs = files?.filter((name) => name.includes('<platform slug>'));
    expect(packs).toEqual(['games/<platform slug>.json', 'covers/<platform slug>.json']);
    const fixed = files?.filter((name) => !packs?.includes(name));
    expect(fixed?.toSorted()).toEqual([MANIFEST, ...FIXED_FILES].toSorted());
    const found = readdirSync(generation, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => path.relative(generation, path.join(entry.parentPath, entry.name)))
      .map((name) => name.replace(/^(games|covers)\/[^/]+\.json$/, '$1/<platform slug>.json'));
    expect([...new Set(found)].toSorted()).toEqual(files?.toSorted());
  });

  test('every entry of a folder that a run has just written', async () => {
    const sample = path.dirname(await makeSampleSnapshots());
    const names = readdirSync(path.join(sample, 'snapshots'));
    const [folder] = tablesOf('## The snapshots folder').map(namesOf);
    const known = folder?.map((name) => name.split('/')[0]);
    expect(names.filter((name) => !known?.includes(name))).toEqual([]);
    expect(names).toContain('lock.holder');
  });

  test('every object of a remote store, and the text that is signed', () => {
    const [objects] = tablesOf('## Remote stores').map(namesOf);
    expect(objects).toEqual([
      POINTER,
      remoteManifest('<id>'),
      objectList('<id>'),
      remoteFile('<sha256>'),
      remoteDelta('<from>', '<to>'),
    ]);
    const text = signedText({
      format_version: 1,
      sequence: 7,
      id: '<id>',
      manifest_sha256: '<manifest_sha256>',
      published_at: '<published_at>',
    });
    const lines = text.replace('7', '<sequence>').replaceAll(/^(?=.)/gm, '    ');
    expect(readme).toContain(`\n\n${lines}\n`);
  });

  test('every member of a manifest, in order', async () => {
    const [members] = tablesOf('## `manifest.json`');
    // The fixture lacks the optional members, which depend on the version of Node.
    const file = path.join(await makeSampleSnapshots(), CURRENT, MANIFEST);
    const sample = JSON.parse(readFileSync(file, 'utf8'));
    expect(namesOf(members)).toEqual(membersOf(sample));
    const required = members?.filter(([, type]) => type !== 'string, optional');
    expect(namesOf(required)).toEqual(membersOf(JSON.parse(read(MANIFEST))));
  });

  test('every member of the index of platforms, in order', () => {
    const [members] = tablesOf('## `index/platforms.json`');
    expect(namesOf(members)).toEqual(membersOf(JSON.parse(read('index/platforms.json'))));
  });

  test('every member of report, keys and status, in order', async () => {
    const [rows = []] = tablesOf('## `report.json`, `keys.json`, `status.json`');
    const named: Record<string, string[]> = {};
    let file = '';
    for (const [first, member, type = ''] of rows) {
      file = codesOf(first)[0] ?? file;
      // The fixture has none of the optional members.
      if (type.endsWith(', optional')) continue;
      named[file] = [...(named[file] ?? []), ...codesOf(member)];
    }
    const report = await makeReport();
    // The names of the members of `reasons` are arbitrary texts.
    const tables = Object.values(report.tables).map((table) =>
      Object.keys(table as object).map((name) => `tables.<table>.${name}`),
    );
    for (const members of tables) expect(members).toEqual(tables[0]);
    const ofReport = membersOf({ ...report, tables: 0 }).flatMap((name) =>
      name === 'tables' ? (tables[0] ?? []) : [name],
    );
    const json = (name: string) => JSON.parse(readFileSync(path.join(dir, name), 'utf8'));
    expect(named).toEqual({
      'report.json': ofReport,
      'keys.json': membersOf(json('keys.json')),
      'status.json': membersOf(json('status.json')),
    });
  });

  test('every member of a difference, in order', async () => {
    const url = await makeSqlite(fixtureCatalogue());
    const snapshotsDir = path.join(makeFolder(), 'snapshots');
    for (const files of ['https://a.example', 'https://b.example']) {
      const environment = { ...FIXTURE_SETTINGS, FILES_URL: files };
      const options = { ...environment, DATABASE_URL: url, SNAPSHOTS_DIR: snapshotsDir };
      await runCommand(runGenerator, ['--force'], options);
    }
    const [name = ''] = readdirSync(path.join(snapshotsDir, CHANGES));
    const text = readFileSync(path.join(snapshotsDir, CHANGES, name), 'utf8');
    const lines = text.trimEnd().split('\n');
    const [rows = []] = tablesOf('## `changes/<id>.jsonl`: differences');
    const members = [lines[0], lines[1], lines.at(-1)].flatMap((line = '') =>
      Object.keys(JSON.parse(line)),
    );
    expect(rows.map(([, member]) => codesOf(member)[0])).toEqual(members);
    const before = text.slice(0, text.lastIndexOf('\n{') + 1);
    expect(JSON.parse(lines.at(-1) ?? '')).toEqual({
      changes: lines.length - 2,
      sha256: hash('sha256', before),
    });
  });

  test('every member of a hold, in order', async () => {
    const { code } = await runCommand(runSnapshot, ['hold'], { SNAPSHOTS_DIR: dir });
    expect(code).toBe(0);
    const file = path.join(dir, HOLD_FILE);
    const [members] = tablesOf('## `hold.json`');
    expect(namesOf(members)).toEqual(membersOf(JSON.parse(readFileSync(file, 'utf8'))));
    rmSync(file);
  });
});

describe('its tables of columns', () => {
  const TYPES: [string, new (length: number) => Column][] = [
    ['u8', Uint8Array],
    ['u16', Uint16Array],
    ['u32', Uint32Array],
    ['i32', Int32Array],
    ['f64', Float64Array],
  ];

  /** The names, types and lengths of the columns in the file. */
  function columnsOf(file: string): [string, string, number][] {
    return Object.entries(openColumns(bytesOf(file), file)).map(([name, column]) => {
      const type = TYPES.find(([, Type]) => column instanceof Type)?.[0] ?? '';
      return [name, type, column.length];
    });
  }

  /**
   * The names, types and lengths in a table.
   * @param counts the counts for which letters stand; a length that the table omits is the file's own
   */
  function columnsInTable(
    rows: string[][] = [],
    file: string,
    counts: Record<string, number>,
  ): [string, string, number][] {
    const own = new Map(columnsOf(file).map(([name, , length]) => [name, length]));
    return rows.map(([name, type, entries = '']) => {
      const column = codesOf(name)[0];
      const parts = /^(?:(\d) )?([A-Z])(?: \+ (\d))?$/.exec(entries);
      const length =
        parts === null
          ? (own.get(column) as number)
          : Number(parts[1] ?? 1) * counts[parts[2]] + Number(parts[3] ?? 0);
      return [column, codesOf(type)[0], length];
    });
  }

  test.each([GAME_INDEX, PATH_INDEX, COVER_INDEX])('describe the columns of %s', (file) => {
    const { counts } = JSON.parse(read(MANIFEST));
    const [rows] = tablesOf(`### \`${file}\``);
    const described = columnsInTable(rows, file, { G: counts.games, C: counts.covers });
    expect(described).toEqual(columnsOf(file));
    if (file !== PATH_INDEX) return;
    // This length is not a sum.
    expect(rows?.at(-1)?.[2]).toBe('2 to the power ⌈log₂ 2·max(G, 1)⌉');
    expect(described.at(-1)).toEqual(['slots', 'u32', 2 ** Math.ceil(Math.log2(2 * counts.games))]);
  });

  /** The columns of lists of postings, each of which has the columns that the table `L.…` names. */
  function columnsOfLists(lists: readonly string[], file: string) {
    const [, , , rows = []] = tablesOf(`### \`${WORD_INDEX}\``);
    const ofLists = rows.filter(([name]) => name?.includes('L.'));
    const found = openColumns(bytesOf(file), file);
    return lists.flatMap((list) => {
      const named = ofLists.map(([name = '', ...rest]) => [
        name.replace('L.', `${list}.`),
        ...rest,
      ]);
      return columnsInTable(named, file, { T: found[`${list}.textStart`].length - 1 });
    });
  }

  test(`describe the columns of ${WORD_INDEX}`, () => {
    const [, , lists, rows = []] = tablesOf(`### \`${WORD_INDEX}\``);
    const others = rows.filter(([name]) => !name?.includes('L.'));
    const found = openColumns(bytesOf(WORD_INDEX), WORD_INDEX);
    const { counts } = JSON.parse(read(MANIFEST));
    const further = found.rankOfFurther.length;
    const counted = { G: counts.games, R: counts.games + further };
    expect([
      ...columnsOfLists(namesOf(lists), WORD_INDEX),
      ...columnsInTable(others, WORD_INDEX, counted),
    ]).toEqual(columnsOf(WORD_INDEX));
    expect(others.find(([name]) => name === '`rankOfFurther`')?.[2]).toBe('R − G');
    expect(further).toBeGreaterThan(2);
    // The other lengths that the table does not count.
    expect(found.wordPositions).toHaveLength(found['words.ranks'].length);
    expect(found.repeatedWords).toHaveLength(3);
  });

  test(`describe the columns of ${FILTER_INDEX}`, () => {
    const [lists, rows = []] = tablesOf(`### \`${FILTER_INDEX}\``);
    const { years } = openColumns(bytesOf(FILTER_INDEX), FILTER_INDEX);
    const { counts } = JSON.parse(read(MANIFEST));
    expect([
      ...columnsOfLists(namesOf(lists), FILTER_INDEX),
      ...columnsInTable(rows, FILTER_INDEX, { G: counts.games, Y: years.length }),
    ]).toEqual(columnsOf(FILTER_INDEX));
  });

  test('describe the container', () => {
    const bytes = Buffer.from(bytesOf(GAME_INDEX));
    const [rows = []] = tablesOf('## The container of `.bin` files: columns');
    expect(rows.map(([at]) => at)).toEqual(['0', '8', '12', '16', '`start`']);
    expect(bytes.toString('latin1', 0, 8)).toBe(codesOf(rows[0]?.[2])[0]);
    expect(bytes.readUInt32LE(8)).toBe(FORMAT_VERSION);
    const directory = JSON.parse(bytes.toString('utf8', 16, 16 + bytes.readUInt32LE(12)));
    for (const { start } of Object.values(directory) as { start: number }[]) {
      expect(start % 8).toBe(0);
    }
  });
});

describe('its text agrees with the code on', () => {
  test('the format version', () => {
    expect(readme).toMatch(new RegExp(`^# The snapshot format, version ${FORMAT_VERSION}\n`));
    expect(readme).toContain(`everything in the generation: ${FORMAT_VERSION} |`);
    expect(JSON.parse(read(MANIFEST)).format_version).toBe(FORMAT_VERSION);
    expect(readme).toContain(
      `independent of \`format_version\`: ${JSON.parse(readFileSync(path.join(dir, 'keys.json'), 'utf8')).version} |`,
    );
  });

  test('the limits and counts', () => {
    expect(LARGEST_MANIFEST).toBe(LARGEST_KEYS_FILE);
    expect(readme).toContain(`\`keys.json\` | at most ${LARGEST_MANIFEST / 2 ** 20} MiB each`);
    expect(readme).toContain(`larger than ${LARGEST_HOLD_FILE / 2 ** 10} KiB`);
    expect(readme).toContain(`a difference | at most ${LARGEST_DIFFERENCE / 2 ** 30} GiB`);
    expect(readme).toContain(`lines of at most ${LONGEST_LINE.toLocaleString('en')} bytes`);
    expect(readme).toContain(`remove a difference ${KEPT_DAYS} days after`);
    expect(readme).toContain(`at most ${LONGEST_REASON} characters`);
    expect(readme).toContain(
      `remove all generations except the last ${KEPT_GENERATIONS}, the current`,
    );
    expect(readme).toContain(`cut to ${LONGEST_QUERY} characters`);
    expect(readme).toContain(`names begin with \`${UNFINISHED_PREFIX}\``);
    expect(readme).toContain('1 to 191 of the characters `A–Z a–z 0–9 . _ ~ -`');
    expect([isSlug('x'.repeat(191)), isSlug('x'.repeat(192)), isSlug('.x')]).toEqual([
      true,
      false,
      false,
    ]);
  });

  test('the form of an id and the content hash in it', () => {
    const manifest = JSON.parse(read(MANIFEST));
    const [, pattern = ''] = /It matches `([^`]+)`/.exec(readme) ?? [];
    for (const id of [manifest.id, '00001-0123456789ab', `${'1'.repeat(15)}-0123456789ab`, '..']) {
      expect(new RegExp(pattern).test(id), id).toBe(isGenerationId(id));
    }
    const [, array = ''] = /^ {4}\[(format_version, .*)\]$/m.exec(readme) ?? [];
    const content = JSON.stringify(array.split(', ').map((name) => manifest[name]));
    expect(manifest.id).toBe(`000001-${hash('sha256', content).slice(0, 12)}`);
  });

  test('the bytes between records', () => {
    const lines = (text: string) => text.replaceAll('\n', '␊');
    const [rows = []] = tablesOf('## Records and packs');
    expect(rows.map(([, bytes]) => codesOf(bytes))).toEqual([
      [PACK_HEAD, RECORD_SEPARATOR, PACK_TAIL, EMPTY_PACK].map(lines),
      [listHead(1), RECORD_SEPARATOR, listTail(1), listHead(0) + listTail(0)].map(lines),
      [pageTail(1, 1, 50, 123), ']', '␊]'].map(lines),
    ]);
    expect(pageTail(0, 9, 50, 123)).toMatch(/^\],"page":9/);
  });

  test('the hash of paths', () => {
    const examples = [...readme.matchAll(/`slugHash\((\d+), "(.+?)"\)` is (\d+)/g)];
    expect(examples).toHaveLength(2);
    for (const [, platform, slug = '', value] of examples) {
      expect(slugHash(Number(platform), slug)).toBe(Number(value));
    }
  });
});

describe('its worked example', () => {
  const example = readme.slice(readme.indexOf('\n## Reading one game by hand\n'));
  const blocks = [...example.matchAll(/^```(sh|text)\n(.*?)^```$/gms)];
  const textOf = (kind: string) =>
    blocks.filter(([, found]) => found === kind).map(([, , text]) => text as string);

  function runExample(folder: string): string[] {
    const script = textOf('sh')
      .join("printf '\\f'\n")
      .replace(/^cd \S+/, `cd '${folder}'`);
    const { status, stdout, stderr } = spawnSync('sh', ['-eu', '-c', script], {
      cwd: ROOT,
      encoding: 'utf8',
    });
    expect([status, stderr]).toEqual([0, '']);
    return stdout.split('\f');
  }

  test('prints the shown output in the folder of the repository', () => {
    expect(textOf('sh')).toHaveLength(3);
    const [, folder = ''] = /^cd (\S+)/.exec(textOf('sh')[0]) ?? [];
    expect(runExample(folder)).toEqual(textOf('text'));
  });

  test('finds a record of another catalogue, and its hash', async () => {
    const sample = await makeSampleSnapshots();
    const target = '/games/snes/chrono-trigger';
    expect(example).toContain(`\`${target}\``);
    const shown = await runCommand(runSnapshot, ['show', target], {
      SNAPSHOTS_DIR: sample,
    });
    const found = runExample(path.join(sample, CURRENT)).at(-1)?.trimEnd().split('\n') ?? [];
    expect(found[0]).toBe(shown.stdout);
    expect(JSON.parse(found[0]).title).toBe('Chrono Trigger');
    const [, computed = '', stored = ''] = found;
    expect(stored.replaceAll(' ', '')).toBe(computed);
    expect(hash('sha256', shown.stdout).slice(0, 16)).toBe(computed);
  });
});
