/**
 * A list of changes is exact, or there is none: whatever happens to the files of differences, no list
 * is wrong, and the file at fault is named.
 */
import {
  closeSync,
  copyFileSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  type Change,
  LARGEST_DIFFERENCE,
  parseChange,
} from '../../../../format/difference-file.ts';
import { CHANGES, differenceFile } from '../../../../format/layout.ts';
import { join } from '../../../../proxy/changes/join-worker.ts';
import { writeDifference } from '../../../../store/changes/write-difference.ts';
import { currentId } from '../../../../store/generations/generations.ts';
import { makeRandom } from '../../../catalogue/random.ts';
import { makeChangingCatalogue } from '../../../proxy/changes/changing-catalogue.ts';
import {
  expectExact,
  parseElements,
  readState,
  type State,
} from '../../../proxy/changes/generation-state.ts';
import { generate, makeFolder } from '../../../support/product.ts';
import { printFigure, rounds } from '../../rounds.ts';

const GENERATIONS = 6;
const DAMAGES = rounds(400, 10_000);

interface History {
  readonly dir: string;
  readonly ids: readonly string[];
  readonly states: ReadonlyMap<string, State>;
}

async function makeHistory(seed: number): Promise<History> {
  const dir = path.join(makeFolder(), 'snapshots');
  const catalogue = await makeChangingCatalogue(seed);
  const states = new Map<string, State>();
  while (states.size < GENERATIONS) {
    await catalogue.change();
    await generate(catalogue.url, dir, ['--force']);
    const id = currentId(dir) as string;
    if (!states.has(id)) states.set(id, readState(dir, id));
  }
  await catalogue.close();
  return { dir, ids: [...states.keys()], states };
}

let history: History;
let other: History;
beforeAll(async () => {
  history = await makeHistory(5);
  other = await makeHistory(6);
});

const fileOf = (id: string, { dir } = history) => path.join(dir, CHANGES, differenceFile(id));

/** Joins two generations of the history. A list must be exact. @returns the outcome */
function joinAndCheck(from: string, to: string, what: string) {
  const { dir, states } = history;
  const reply = join(dir, { from, to, first: 0, end: 1e6 });
  if (reply.outcome === 'joined') {
    const text = Buffer.from(reply.part.text).toString().slice(0, -2);
    const changes = parseElements(`{"data":[${text}]}`);
    expectExact(changes, states.get(from) as State, states.get(to) as State, what);
  }
  return reply;
}

/** Runs some work on the files, and puts back the file of one generation afterwards. */
function damaging(id: string, work: () => void): void {
  const kept = path.join(makeFolder(), 'kept');
  copyFileSync(fileOf(id), kept);
  try {
    work();
  } finally {
    rmSync(fileOf(id), { recursive: true, force: true });
    copyFileSync(kept, fileOf(id));
  }
}

test(`after each of ${DAMAGES} random damages, a list is exact or refused`, () => {
  const { ids } = history;
  const [first, last] = [ids[0], ids.at(-1) as string];
  expect(joinAndCheck(first, last, 'undamaged').outcome).toBe('joined');
  expect(joinAndCheck(last, first, 'undamaged, backwards').outcome).toBe('joined');
  const random = makeRandom(17);
  const figures = { refused: 0, gone: 0, joined: 0 };
  for (let round = 0; round < DAMAGES; round++) {
    const id = random.pick(ids.slice(1));
    const good = readFileSync(fileOf(id));
    const at = random.below(good.length);
    const damages: Record<string, () => Buffer> = {
      'a changed byte': () => {
        const bytes = Buffer.from(good);
        bytes[at] = bytes[at] ^ (1 + random.below(255));
        return bytes;
      },
      'a cut': () => good.subarray(0, at),
      'missing bytes': () => {
        return Buffer.concat([good.subarray(0, at), good.subarray(at + 1 + random.below(200))]);
      },
      'bytes twice': () =>
        Buffer.concat([good.subarray(0, at), good.subarray(random.below(at + 1))]),
      'a missing line': () => {
        const lines = good.toString().split('\n');
        lines.splice(random.below(lines.length - 1), 1);
        return Buffer.from(lines.join('\n'));
      },
      'a line twice': () => {
        const lines = good.toString().split('\n');
        const line = random.below(lines.length - 1);
        lines.splice(line, 0, lines[line]);
        return Buffer.from(lines.join('\n'));
      },
    };
    const kind = random.pick(Object.keys(damages));
    const bytes = damages[kind]?.() ?? good;
    writeFileSync(fileOf(id), bytes);
    const [from, to] = random.happens(0.5) ? [first, last] : [last, first];
    const what = `${kind} at ${at} of ${id}, ${from} to ${to}`;
    const reply = joinAndCheck(from, to, what);
    figures[reply.outcome]++;
    if (reply.outcome === 'joined') expect(bytes.equals(good), what).toBe(true);
    if (reply.outcome === 'refused') expect(reply.message, what).toContain(id);
    writeFileSync(fileOf(id), good);
  }
  expect(figures.refused).toBeGreaterThan(DAMAGES / 2);
  expect(joinAndCheck(first, last, 'undamaged again').outcome).toBe('joined');
  printFigure(
    'A list of changes is exact',
    `${DAMAGES} damaged differences: ${figures.refused} refused, ${figures.gone} led nowhere, ${figures.joined} unchanged by the damage; 0 wrong lists`,
  );
});

describe('there is no list if a difference on the way is', () => {
  const cases: [string, (id: string, ids: readonly string[]) => void, string][] = [
    ['missing', (id) => rmSync(fileOf(id)), 'gone'],
    ['empty', (id) => truncateSync(fileOf(id)), 'it is empty'],
    ['a folder', (id) => replaceBy(id, mkdirSync), 'a directory, not a regular file'],
    ['a dangling link', (id) => replaceBy(id, (file) => symlinkSync('nowhere', file)), 'gone'],
    ['larger than any difference', enlarge, 'it is too large'],
    ['one endless line', (id) => writeFileSync(fileOf(id), 'x'.repeat(100_000)), 'without an end'],
    ['that of another generation', swapWithNext, 'it belongs to'],
    ['that of another folder', takeForeign, 'it belongs to'],
    ['of another version', (id) => edit(id, '"version":1', '"version":2'), 'it has version 2'],
    ['one that contradicts its parent', repeatParent, 'contradicts others about'],
  ];

  test.each(cases)('%s', (_, damage, expected) => {
    const { ids } = history;
    const id = ids[3];
    damaging(id, () => {
      const next = readFileSync(fileOf(ids[4]));
      damage(id, ids);
      const reply = joinAndCheck(ids[0], ids[5], expected);
      writeFileSync(fileOf(ids[4]), next);
      if (expected === 'gone') expect(reply).toEqual({ outcome: 'gone' });
      else
        expect(reply).toEqual({ outcome: 'refused', message: expect.stringContaining(expected) });
      // The way between later generations does not need it.
      expect(joinAndCheck(ids[4], ids[5], 'later').outcome).toBe('joined');
    });
  });

  function replaceBy(id: string, make: (file: string) => void): void {
    rmSync(fileOf(id));
    make(fileOf(id));
  }

  function enlarge(id: string): void {
    const descriptor = openSync(fileOf(id), 'r+');
    ftruncateSync(descriptor, LARGEST_DIFFERENCE + 1);
    closeSync(descriptor);
  }

  function swapWithNext(id: string, ids: readonly string[]): void {
    renameSync(fileOf(ids[4]), fileOf(id));
  }

  function takeForeign(id: string): void {
    copyFileSync(fileOf(other.ids[3], other), fileOf(id));
  }

  function edit(id: string, part: string, replacement: string): void {
    writeFileSync(fileOf(id), readFileSync(fileOf(id), 'utf8').replace(part, replacement));
  }

  /** Has the changes of its parent again, with a right checksum: they do not begin with its state. */
  function repeatParent(id: string, ids: readonly string[]): void {
    const text = readFileSync(fileOf(ids[2] as string), 'utf8');
    const lines = text.split('\n').slice(1, -2);
    expect(lines.length).toBeGreaterThan(0);
    const head = { from: ids[2] as string, to: id, published_at: '2026-11-22T00:00:00Z' };
    rmSync(fileOf(id));
    writeDifference(
      fileOf(id),
      head,
      lines.map((line) => parseChange(line) as Change),
    );
  }
});
