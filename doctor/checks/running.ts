/** The running programs: what they report at their admin addresses, if they listen there. */
import { currentId } from '../../generations/generations.ts';
import { type AdminProgram, adminPortOf } from '../../program/admin/program-admin.ts';
import { messageOf } from '../../program/failure.ts';
import { type Check, type Findings, requireValue, type Scene } from '../check.ts';

/** `schedule` confirms the keys every two seconds, and a replica every second. */
const OLD_KEYS_SECONDS = 60;

/** The members of the proxy's `/readyz` that the check reads. */
interface ProxyState {
  readonly ready: boolean;
  readonly snapshot: string | null;
  readonly refused: { readonly id: string; readonly error: string } | null;
  readonly keys: number | null;
  readonly keys_error: string | null;
  readonly keys_age_seconds: number | null;
  readonly replica: { readonly error: string | null } | null;
  readonly limits: { readonly error: string | null } | null;
  readonly faults: readonly string[];
}

/** Those of the other programs; only the account pages say whether they can read the database. */
interface TaskStates {
  readonly ready: boolean;
  readonly tasks: Readonly<Record<string, { readonly error: string | null }>>;
  readonly database?: boolean;
}

export const proxy: Check = {
  name: 'running proxy',
  programs: ['proxy'],
  async run(scene, findings) {
    const port = requireValue(scene, 'ADMIN_PORT');
    const found = await askState(scene, 'proxy', port, 'faults', findings);
    if (found === undefined) return;
    const state = found as ProxyState;
    reportProxy(state, findings);
    const current = currentId(requireValue(scene, 'SNAPSHOTS_DIR'));
    if (state.snapshot === null || state.snapshot === current) return;
    findings.warn(
      `The proxy serves ${state.snapshot}, but ${current ?? 'nothing'} is current in SNAPSHOTS_DIR.`,
      'If this stays so for more than a few seconds, the proxy reads another folder or refuses the generation: see its log.',
    );
  },
};

export const schedule = taskCheck('running schedule', 'schedule');
export const account = taskCheck('running account pages', 'account');
export const replica = taskCheck('running replica', 'replica');

function taskCheck(name: string, program: AdminProgram): Check {
  return {
    name,
    programs: [program],
    async run(scene, findings) {
      const port = adminPortOf(program, requireValue(scene, 'ADMIN_PORT'));
      const state = await askState(scene, program, port, 'tasks', findings);
      if (state !== undefined) reportTasks(program, state as TaskStates, findings);
    },
  };
}

/**
 * Asks a program for its `/readyz`, and reports if it does not answer.
 * @param member that the answer has if it is from this program
 */
async function askState(
  scene: Scene,
  program: string,
  port: number,
  member: string,
  { warn, error }: Findings,
): Promise<object | undefined> {
  const url = `${addressOf(requireValue(scene, 'ADMIN_HOST'), port)}/readyz`;
  let state: unknown;
  try {
    const text = await (await fetch(url, { redirect: 'manual' })).text();
    state = text.startsWith('{') ? JSON.parse(text) : undefined;
  } catch (cause) {
    const reason = messageOf((cause as Error).cause ?? cause);
    // Without the schedule, revoked keys keep working and the data grows old. Others may run elsewhere.
    const report = program === 'schedule' ? error : warn;
    report(
      `"cover-catalogue ${program}" does not answer at ${url}: ${reason}.`,
      'Start it, if it should run on this machine. If it runs, look at its log.',
    );
    return undefined;
  }
  if (typeof state === 'object' && state !== null && member in state) return state;
  error(
    `What answers at ${url} is not "cover-catalogue ${program}".`,
    'Set another port, or stop the other program.',
  );
  return undefined;
}

/** Turns an address on which a server listens into one to connect to. */
function addressOf(host: string, port: number): string {
  const target = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${target.includes(':') ? `[${target}]` : target}:${port}`;
}

function reportTasks(
  program: string,
  { ready, tasks, database }: TaskStates,
  { ok, warn, error }: Findings,
): void {
  const failing = Object.entries(tasks).filter(([, task]) => task.error !== null);
  for (const [task, { error: reason }] of failing) {
    error(
      `"cover-catalogue ${program}" fails at ${JSON.stringify(task)}: ${reason}`,
      'Correct what the message names. The program tries again by itself.',
    );
  }
  if (database === false) {
    error(
      `"cover-catalogue ${program}" cannot read the database.`,
      'Correct what the checks of the database report. If it is lost, see operations/runbooks/restore.md.',
    );
  } else if (ready) ok(`"cover-catalogue ${program}" runs, and nothing fails.`);
  else if (failing.length === 0) {
    warn(`"cover-catalogue ${program}" is not ready.`, 'Wait for its start.');
  }
}

function reportProxy(state: ProxyState, { ok, warn, error }: Findings): void {
  if (state.ready) ok(`The proxy serves ${state.snapshot} and knows ${state.keys} keys.`);
  else error('The proxy runs, but is not ready.', 'See its log.');
  if (state.refused !== null) {
    error(
      `The proxy refuses the generation ${state.refused.id}: ${state.refused.error}`,
      'Run "cover-catalogue snapshot verify", then generate again or roll back.',
    );
  }
  if (state.keys === null || state.keys_error !== null) {
    error(
      `The proxy ${state.keys === null ? 'has no keys' : 'keeps old keys'}: ${state.keys_error ?? 'keys.json was not read yet.'}`,
      'Start "cover-catalogue schedule", which exports the keys, and check the permissions of keys.json.',
    );
  } else if (state.keys === 0) {
    warn(
      'The proxy knows no keys: it refuses every key that a client sends.',
      'If keys were issued before, see operations/runbooks/restore.md. Otherwise run "cover-catalogue keys issue".',
    );
  } else if ((state.keys_age_seconds ?? 0) > OLD_KEYS_SECONDS) {
    warn(
      `The keys last agreed with the database ${state.keys_age_seconds} seconds ago: a revoked key still works.`,
      'Start "cover-catalogue schedule" (or, on a replica, "cover-catalogue replica"), and look at its log.',
    );
  }
  const reported = [...state.faults, state.replica?.error, state.limits?.error];
  for (const fault of reported) {
    if (fault) error(`The proxy reports: ${fault}`, 'Correct what the message names.');
  }
}
