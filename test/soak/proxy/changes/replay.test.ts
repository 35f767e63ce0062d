/**
 * Lists of changes are exact: whoever applies the list to one generation has the other one, for pairs
 * of generations from a long history with changes of every kind, rollbacks, prunes, changed settings
 * and restarts of the proxy.
 */
import path from 'node:path';
import { expect, test } from 'vitest';
import { makeRandom } from '../../../../demo/catalogue/random.ts';
import { currentId, idsOnDisk } from '../../../../generations/generations.ts';
import { makeChangingCatalogue } from '../../../proxy/changes/changing-catalogue.ts';
import {
  expectExact,
  type ListedChange,
  parseElements,
  readState,
  type State,
} from '../../../proxy/changes/generation-state.ts';
import { joinExactly } from '../../../proxy/changes/history.ts';
import {
  makeFolder,
  type ProxyProgram,
  runProgram,
  startProxyProgram,
  testKey,
} from '../../../support/product.ts';
import { IS_FULL, printFigure, rounds } from '../../rounds.ts';
import { until } from '../../support/until.ts';

const RUNS = rounds(8, 40);
/** How many earlier generations a client has whose copy it brings up to date after each run. */
const COPIES = IS_FULL ? 12 : 4;
const PAIRS = rounds(300, 4_000);

const dir = path.join(makeFolder(), 'snapshots');
const key = testKey(1);
const states = new Map<string, State>();
const figures = { requests: 0, changes: 0, rollbacks: 0, prunes: 0, restarts: 0, settings: 0 };
let proxy: ProxyProgram;
const stateOf = (id: string) => states.get(id) as State;

/** Reads all pages of a list, from the generation of the first one. */
async function readList(since: string, perPage: number) {
  const list: ListedChange[] = [];
  let to: string | undefined;
  for (let page = 1; ; page++) {
    const target = `/changes?since=${since}&per_page=${perPage}&page=${page}`;
    const reply = await proxy.get(target, key.key, to === undefined ? {} : { 'x-snapshot': to });
    expect([target, reply.status, reply.text.slice(0, 99)]).toEqual([
      target,
      200,
      expect.stringContaining('"from"'),
    ]);
    expect(reply.json.from).toBe(since);
    expect(reply.json.to).toBe(reply.headers['x-snapshot']);
    expect(reply.json.to).toBe(to ?? reply.json.to);
    to = reply.json.to as string;
    list.push(...parseElements(reply.text));
    figures.requests++;
    if (page >= reply.json.total_pages) {
      expect(list).toHaveLength(reply.json.total);
      return { to, list };
    }
  }
}

test(`after each of ${RUNS} runs, copies of earlier generations are brought up to date`, async () => {
  const catalogue = await makeChangingCatalogue(4, key);
  const { random } = catalogue;
  const snapshot = (...args: string[]) =>
    runProgram('commands/snapshot.ts', args, { SNAPSHOTS_DIR: dir });
  let site = 'https://covers.example';

  async function publish(): Promise<void> {
    const { code, stderr } = await runProgram('generator/cli/main.ts', ['--force'], {
      DATABASE_URL: catalogue.url,
      SNAPSHOTS_DIR: dir,
      SITE_URL: site,
      FILES_URL: 'https://files.example',
      PUBLIC_URL: 'https://api.example',
    });
    expect(code, stderr).toBe(0);
    expect(stderr).not.toContain('not known to clients');
    const id = currentId(dir) as string;
    if (!states.has(id)) states.set(id, readState(dir, id));
  }

  /** Something else that may happen between two runs. */
  async function disturb(): Promise<void> {
    if (random.happens(0.1)) {
      const target = random.pick(idsOnDisk(dir));
      expect((await snapshot('rollback', target, '--no-hold', '--with-taken-down')).code).toBe(0);
      const id = currentId(dir) as string;
      states.set(id, readState(dir, id));
      figures.rollbacks++;
    }
    if (random.happens(0.05)) {
      expect((await snapshot('prune', '--keep', '1')).code).toBe(0);
      figures.prunes++;
    }
    if (random.happens(0.05)) {
      site = random.pick(['https://covers.example', 'https://other.example']);
      figures.settings++;
    }
    if (random.happens(0.1)) {
      await proxy.stop();
      proxy = await startProxyProgram(dir, { PROXY_THREADS: String(1 + random.below(2)) });
      figures.restarts++;
    }
  }

  await publish();
  proxy = await startProxyProgram(dir, { PROXY_THREADS: '2' });
  for (let run = 0; run < RUNS; run++) {
    await catalogue.change();
    await disturb();
    await publish();
    const current = currentId(dir) as string;
    await until(async () => (await proxy.readyz()).json.snapshot === current);
    for (let copy = 0; copy < COPIES; copy++) {
      const since = random.pick([...states.keys()]);
      const { to, list } = await readList(since, 1 + random.below(100));
      expect(to).toBe(current);
      figures.changes += list.length;
      expectExact(list, stateOf(since), stateOf(to), `${since} to ${to}`);
    }
  }
  await catalogue.close();
  expect(states.size).toBeGreaterThan(RUNS * 0.8);
  printFigure(
    'A list of changes is exact',
    `${states.size} generations, ${RUNS * COPIES} pairs over HTTP with ${figures.requests} requests and ${figures.changes} changes, ${figures.rollbacks} rollbacks, ${figures.prunes} prunes, ${figures.settings} changes of settings, ${figures.restarts} restarts: 0 wrong`,
  );
});

test(`the lists between ${PAIRS} pairs of these generations are exact`, () => {
  const ids = [...states.keys()];
  const random = makeRandom(5);
  let changes = 0;
  for (let pair = 0; pair < PAIRS; pair++) {
    const at = 1 + random.below(ids.length - 1);
    const [from, to] = [ids[random.below(at)], ids[at]];
    const { page, ...how } = joinExactly({ dir, states }, from, to);
    if (typeof page === 'string') throw new Error(`${from} to ${to}: ${JSON.stringify(how)}`);
    changes += page.total;
  }
  printFigure('A list of changes is exact', `${PAIRS} further pairs, ${changes} changes: 0 wrong`);
});
