/**
 * The scripts of the shared limits in TypeScript, for tests without Redis. `scripts.test.ts` compares them
 * with the Lua scripts in a real one.
 */
import {
  LIVE_US,
  type ScriptName,
  SETTLE_US,
  STORE_KEYS,
  WINDOW_US,
} from '../../../../proxy/limits/shared/scripts.ts';

/** Everything that a server has in memory. */
export interface StoreMemory {
  state: { epoch: string; server: string; started: number; isAlone: boolean } | undefined;
  /** How often the list of proxies has changed. */
  changes: number;
  seed: string | undefined;
  open: string | undefined;
  members: Map<string, number>;
  joined: Map<string, number>;
  expected: Set<string>;
  seeded: Map<string, number>;
  windows: Map<string, number[]>;
}

type Argument = string | number;

export function emptyMemory(): StoreMemory {
  return {
    state: undefined,
    changes: 0,
    seed: undefined,
    open: undefined,
    members: new Map(),
    joined: new Map(),
    expected: new Set(),
    seeded: new Map(),
    windows: new Map(),
  };
}

export function copyMemory(memory: StoreMemory): StoreMemory {
  return structuredClone(memory);
}

/** Runs a script at a time in microseconds. @returns what Redis would return */
export function runModel(
  memory: StoreMemory,
  script: ScriptName,
  keys: readonly string[],
  args: readonly Argument[],
  now: number,
): (string | number)[] {
  switch (script) {
    case 'admit':
      return admit(memory, keys, args, now);
    case 'join':
      return join(memory, args.map(String), now);
    case 'report':
      return report(memory, keys, args, now);
    case 'leave': {
      const id = String(args[0]);
      if (memory.members.has(id)) memory.members.set(id, now - LIVE_US);
      return [now];
    }
  }
}

function admit(
  { open, windows }: StoreMemory,
  keys: readonly string[],
  args: readonly Argument[],
  now: number,
): number[] {
  if (keys[0] !== STORE_KEYS.open) throw new Error(`${keys[0]} is not the key of the open epoch`);
  if (open !== args[0]) return [now];
  const horizon = now - WINDOW_US;
  const before: number[] = [];
  const reply = [now];
  for (let row = 0; row < keys.length - 1; row++) {
    const [limit, wanted, guard, ahead] = args.slice(row * 4 + 1, row * 4 + 5).map(Number);
    const times = windows.get(keys[row + 1]) ?? [];
    while (times.length > 0 && times[0] <= horizon) times.shift();
    const count = times.length;
    before.push(count);
    const isRefused = guard > 0 && before[guard - 1] + ahead >= Number(args[(guard - 1) * 4 + 1]);
    const admitted = Math.max(0, Math.min(isRefused ? 0 : wanted, limit - count));
    for (let i = 0; i < admitted; i++) times.push(now);
    windows.set(keys[row + 1], times);
    const after = times.length;
    const oldest = after === 0 ? horizon : after > limit ? times[after - limit] : times[0];
    reply.push(admitted, after, oldest - horizon);
  }
  return reply;
}

function join(memory: StoreMemory, args: readonly string[], now: number): (string | number)[] {
  const [id, server, jumped, fresh, seed, known, others, ...list] = args;
  const { members, joined, expected, seeded } = memory;
  if (
    memory.state === undefined ||
    memory.state.server !== server ||
    memory.state.epoch === jumped
  ) {
    if (list.length === 0 && others !== '0') return [now];
    const before = [...members.keys()];
    memory.open = undefined;
    for (const each of [members, joined, expected, seeded]) each.clear();
    for (const other of before) expected.add(other);
    memory.state = { epoch: fresh, server, started: now, isAlone: before.length === 0 };
  }
  memory.seed ??= seed;
  const { epoch, started } = memory.state;
  const isNamed = memory.open !== epoch && expected.has(id);
  if (memory.open !== epoch) {
    const size = expected.size;
    for (const other of [id, ...list]) expected.add(other);
    memory.changes += expected.size - size;
    if (list.length > 0) memory.state.isAlone = false;
  }
  for (const [other, time] of members) {
    if (time > now - WINDOW_US) continue;
    members.delete(other);
    joined.delete(other);
    memory.changes++;
  }
  if (!members.has(id)) memory.changes++;
  members.set(id, now);
  if (!joined.has(id)) joined.set(id, isNamed ? 0 : now);
  const since = joined.get(id) ?? now;
  const isUnknown = [...members.values()].some((time) => time >= now - LIVE_US && time < since);
  const isKnown = !isUnknown;
  const isOpen = openEpoch(memory, now);
  const isYoung = now - started < WINDOW_US;
  const version = `${epoch} ${memory.changes}${isYoung ? ' young' : ''}`;
  const reply = [now, epoch, isOpen, seeded.get(id) ?? 0, Number(isKnown), memory.seed, version];
  if (version === known) return reply;
  return [...reply, ...new Set([...members.keys(), ...(isYoung ? expected : [])])];
}

function report(
  memory: StoreMemory,
  keys: readonly string[],
  args: readonly Argument[],
  now: number,
): number[] {
  const [epoch, id, kind] = args.slice(0, 3).map(String);
  if (memory.state?.epoch !== epoch) return [now, 0];
  if (kind !== 'report' && memory.seeded.has(id)) return [now, 2];
  let at = 3;
  for (const key of keys.slice(4)) {
    const count = Number(args[at]);
    const ages = args.slice(at + 1, at + 1 + count).map(Number);
    at += 1 + count;
    const times = [...(memory.windows.get(key) ?? []), ...ages.map((age) => now - age)];
    memory.windows.set(
      key,
      times.sort((a, b) => a - b),
    );
  }
  if (kind === 'last') {
    memory.seeded.set(id, now);
    openEpoch(memory, now);
  }
  return [now, 1];
}

function openEpoch(memory: StoreMemory, now: number): number {
  const { state, expected, seeded } = memory;
  if (state === undefined) return 0;
  if (memory.open === state.epoch) return 1;
  const age = now - state.started;
  if (state.isAlone && age < SETTLE_US) return 0;
  const isMissing = [...expected].some((id) => !seeded.has(id));
  if (isMissing && age < WINDOW_US) return 0;
  memory.open = state.epoch;
  return 1;
}
