/** The Lua scripts in a real Redis give the same replies as their model in TypeScript. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  SCRIPTS,
  type ScriptName,
  STORE_KEYS,
  windowKey,
} from '../../../../../proxy/limits/shared/scripts.ts';
import { makeRandom, type Random } from '../../../../catalogue/random.ts';
import { emptyMemory, runModel } from '../../../../proxy/limits/shared/model-store.ts';
import { type RedisServer, startRedis } from '../../../../support/servers/redis.ts';

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

const PROXIES = ['a', 'b', 'c'];
const NAMES = ['k1', 'k2', 'a3'];

interface Command {
  readonly script: ScriptName;
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
}

/** A random command, often of the epoch that the store is in. */
function makeCommand(random: Random, epoch: string, lastVersion: string): Command {
  const kind = random.below(10);
  const ownEpoch = random.happens(0.95) ? epoch : 'another';
  if (kind < 2) {
    const jumped = random.happens(0.1) ? epoch : '';
    const server = random.happens(0.95) ? 's1' : 's2';
    const others = PROXIES.filter(() => random.happens(0.3));
    const sent = random.happens(0.7) ? others : [];
    const version = random.happens(0.5) ? lastVersion : '';
    const fresh = `e${random.below(1e6)}`;
    const seed = `seed${random.below(9)}`;
    const names = [random.pick(PROXIES), server, jumped, fresh, seed, version];
    const args = [...names, others.length, ...sent];
    return { script: 'join', keys: Object.values(STORE_KEYS), args };
  }
  if (kind < 5) {
    const { state, open, expected, seeded } = STORE_KEYS;
    const names = NAMES.filter(() => random.happens(0.4));
    const ages = names.flatMap(() => {
      const count = 1 + random.below(4);
      return [count, ...Array.from({ length: count }, () => random.below(70_000_000))];
    });
    const reported = random.pick(['report', 'seed', 'last', 'last']);
    const keys = [state, open, expected, seeded, ...names.map((name) => windowKey(epoch, name))];
    return { script: 'report', keys, args: [ownEpoch, random.pick(PROXIES), reported, ...ages] };
  }
  if (kind === 5) return { script: 'leave', keys: [STORE_KEYS.members], args: ['b'] };
  const rows = 1 + random.below(3);
  const args = Array.from({ length: rows }, (_, row) => {
    const guard = row > 0 && random.happens(0.3) ? 1 + random.below(row) : 0;
    return [3 + random.below(20), random.below(4), guard, guard > 0 ? random.below(5) : 0];
  }).flat();
  const windows = Array.from({ length: rows }, () => windowKey(epoch, random.pick(NAMES)));
  return { script: 'admit', keys: [STORE_KEYS.open, ...windows], args: [ownEpoch, ...args] };
}

test('2,000 random commands get the same replies as in Redis', async () => {
  const random = makeRandom(2);
  const memory = emptyMemory();
  let epoch = 'none';
  let version = '';
  const outcomes = new Set<string>();
  for (let i = 0; i < 2_000; i++) {
    const { script, keys, args } = makeCommand(random, epoch, version);
    const reply = (await redis.client.eval(
      ...[SCRIPTS[script].lua, keys.length],
      ...[...keys, ...args],
    )) as (string | number)[];
    // The model gets the time that Redis had.
    const expected = runModel(memory, script, keys, args, Number(reply[0]));
    if (script === 'join') {
      // The order of members is not fixed.
      expect([...reply.slice(0, 7), ...reply.slice(7).toSorted()]).toEqual([
        ...expected.slice(0, 7),
        ...expected.slice(7).toSorted(),
      ]);
      outcomes.add(`join ${reply[2]} ${reply[4]} ${reply.length > 7}`);
      if (reply.length > 1) [epoch, version] = [String(reply[1]), String(reply[6])];
    } else {
      expect({ i, script, reply }).toEqual({ i, script, reply: expected });
      outcomes.add(`${script} ${script === 'report' ? reply[1] : reply.length > 1}`);
    }
  }
  // Each outcome has occurred.
  expect([...outcomes].toSorted()).toEqual(
    expect.arrayContaining([
      ...[
        'admit false',
        'admit true',
        'join 0 1 true',
        'join 1 1 true',
        'join 1 1 false',
        'join undefined undefined false',
        'report 0',
        'report 1',
        'report 2',
      ],
    ]),
  );
  const ttls = await Promise.all(
    (await redis.client.keys('*:[ka]*')).map((key) => redis.client.pttl(key)),
  );
  expect(ttls.length).toBeGreaterThan(0);
  expect(ttls.every((ttl) => ttl > 0 && ttl <= 61_000)).toBe(true);
});
