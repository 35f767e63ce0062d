/** How the requests that wait for the store become one command, and how its reply is divided. */
import { expect, test } from 'vitest';
import { STORE_KEYS } from '../../../../proxy/limits/shared/scripts.ts';
import {
  type FleetWindow,
  makeWaitingRows,
  type Question,
} from '../../../../proxy/limits/shared/waiting-rows.ts';
import { emptyMemory, runModel } from './model-store.ts';

const SECOND = 1_000_000;

/** A store in which an epoch is open, and the windows of one proxy. */
function makeStore() {
  const memory = emptyMemory();
  memory.open = 'e';
  let now = 1e15;
  const recorded: string[] = [];
  const windowOf = (name: string): FleetWindow => ({
    name,
    admit: () => expect.unreachable('the store decides'),
    peek: () => expect.unreachable('the store decides'),
    record: () => recorded.push(name),
  });
  type Asked = Omit<Question, 'window' | 'done' | 'guard' | 'isPeek'> & {
    name: string;
    isPeek?: boolean;
    guard?: [name: string, limit: number];
  };
  /** Asks for all at once. @returns for each "limit:remaining:reset", with "!" if it is refused */
  const askAll = (all: readonly Asked[]) => {
    const rows = makeWaitingRows();
    const answers: string[] = [];
    for (const [i, { name, limit, isPeek = false, guard }] of all.entries()) {
      const [guardName = '', guardLimit = 0] = guard ?? [];
      rows.add({
        window: windowOf(name),
        limit,
        isPeek,
        ...(guard && { guard: { window: windowOf(guardName), limit: guardLimit } }),
        done(quota, isGuarded) {
          const { admitted, remaining, resetSeconds } = quota ?? expect.unreachable();
          const outcome = `${admitted ? '' : '!'}${isGuarded ? '(guard)' : ''}`;
          answers[i] = `${outcome}${quota?.limit}:${remaining}:${resetSeconds}`;
        },
      });
    }
    const keys = [STORE_KEYS.open, ...rows.keys('e')];
    const [, ...reply] = runModel(memory, 'admit', keys, ['e', ...rows.args()], now);
    rows.answer(reply, 0);
    return answers;
  };
  return { askAll, recorded, pass: (seconds: number) => (now += seconds * SECOND) };
}

test('requests of one window share a row and are admitted in the order in which they came', () => {
  const { askAll, recorded, pass } = makeStore();
  const k1 = { name: 'k1', limit: 3 };
  expect(askAll([k1, { name: 'k2', limit: 5 }, k1])).toEqual(['3:2:60', '5:4:60', '3:1:60']);
  pass(20);
  expect(askAll([k1, k1])).toEqual(['3:0:40', '!3:0:40']);
  expect(recorded).toEqual(['k1', 'k1', 'k2', 'k1']);
  pass(40);
  expect(askAll([k1])).toEqual(['3:1:20']);
});

test('a peek counts nothing, and says what is left after those before it', () => {
  const { askAll } = makeStore();
  const a1 = { name: 'a1', limit: 2 };
  const peek = { ...a1, isPeek: true };
  expect(askAll([peek])).toEqual(['2:2:0']);
  expect(askAll([a1, peek, a1, peek, a1])).toEqual([
    '2:1:60',
    '2:1:60',
    '2:0:60',
    '!2:0:60',
    '!2:0:60',
  ]);
});

test('a lowered limit refuses until enough requests have expired', () => {
  const { askAll, pass } = makeStore();
  const ask = (limit: number) => askAll([{ name: 'k1', limit }])[0];
  for (let i = 0; i < 4; i++) {
    ask(10);
    pass(5);
  }
  // Admitted 20, 15, 10 and 5 seconds ago.
  expect(ask(2)).toBe('!2:0:50');
  pass(50);
  expect(ask(2)).toBe('2:0:5');
});

test('among guesses that come together, the right key is refused like the others', () => {
  const { askAll, recorded } = makeStore();
  const guess = { name: 'a1', limit: 3 };
  const right = { name: 'k1', limit: 10, guard: ['a1', 3] as [string, number] };
  // With two guesses before it, the address has one left.
  expect(askAll([guess, guess, right])).toEqual(['3:2:60', '3:1:60', '10:9:60']);
  expect(askAll([guess, right, guess])).toEqual(['3:0:60', '!(guard)3:0:60', '!3:0:60']);
  expect(recorded.filter((name) => name === 'k1')).toHaveLength(1);
});
