/** The running programs: what they report at their admin addresses, if they listen there. */
import { currentId } from '../../generations/generations.ts';
import { type AdminProgram, adminPortOf } from '../../program/admin/program-admin.ts';
import { messageOf } from '../../program/failure.ts';
import { type Check, type Findings, requireValue, type Scene } from '../check.ts';

/** `schedule` confirms the keys every two seconds, and a replica every second. */
const OLD_KEYS_SECONDS = 60;
const FIX = 'Correct what the message names. The program tries again by itself.';

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
    const { ok, warn, error } = findings;
    const port = requireValue(scene, 'ADMIN_PORT');
    const state = await askState<ProxyState>(scene, 'proxy', port, 'faults', findings);
    if (state === undefined) return;
    const { snapshot, refused, keys } = state;
    if (state.ready) ok(`The proxy serves ${snapshot} and knows ${keys} keys.`);
    else error('The proxy runs, but is not ready.', 'See its log.');
    if (refused !== null) {
      error(
        `The proxy refuses the generation ${refused.id}: ${refused.error}`,
        'Run "cover-catalogue snapshot verify", then generate again or roll back.',
      );
    }
    if (state.keys_error !== null) {
      error(
        `The proxy ${keys === null ? 'has no keys' : 'keeps old keys'}: ${state.keys_error}`,
        'Start "cover-catalogue schedule", which exports the keys, and check the permissions of keys.json.',
      );
    } else if (keys === 0) {
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
    for (const fault of [...state.faults, state.replica?.error, state.limits?.error]) {
      if (fault) error(`The proxy reports: ${fault}`, FIX);
    }
    const current = currentId(requireValue(scene, 'SNAPSHOTS_DIR'));
    if (snapshot === null || snapshot === current) return;
    warn(
      `The proxy serves ${snapshot}, but ${current ?? 'nothing'} is current in SNAPSHOTS_DIR.`,
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
      const { ok, warn, error } = findings;
      const port = adminPortOf(program, requireValue(scene, 'ADMIN_PORT'));
      const state = await askState<TaskStates>(scene, program, port, 'tasks', findings);
      if (state === undefined) return;
      const what = `"cover-catalogue ${program}"`;
      const faults = Object.entries(state.tasks).filter(([, task]) => task.error !== null);
      for (const [task, { error: reason }] of faults) {
        error(`${what} fails at ${JSON.stringify(task)}: ${reason}`, FIX);
      }
      if (state.database === false) {
        error(
          `${what} cannot read the database.`,
          'Correct what the checks of the database report. If it is lost, see operations/runbooks/restore.md.',
        );
      } else if (state.ready) ok(`${what} runs, and nothing fails.`);
      else if (faults.length === 0) warn(`${what} is not ready.`, 'Wait for its start.');
    },
  };
}

/**
 * Asks a program for its `/readyz`, and reports if it does not answer.
 * @param member that the answer has if it is from this program
 */
async function askState<State>(
  scene: Scene,
  program: string,
  port: number,
  member: string,
  { warn, error }: Findings,
): Promise<State | undefined> {
  const host = requireValue(scene, 'ADMIN_HOST');
  // A server may listen on all addresses; a client connects to one.
  const target = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  const url = `http://${target.includes(':') ? `[${target}]` : target}:${port}/readyz`;
  let text: string;
  try {
    text = await (await fetch(url, { redirect: 'manual' })).text();
  } catch (cause) {
    // Without the schedule, revoked keys keep working and the data grows old. Others may run elsewhere.
    const report = program === 'schedule' ? error : warn;
    report(
      `"cover-catalogue ${program}" does not answer at ${url}: ${messageOf((cause as Error).cause ?? cause)}.`,
      'Start it, if it should run on this machine. If it runs, look at its log.',
    );
    return undefined;
  }
  if (text.startsWith('{') && text.includes(`"${member}":`)) return JSON.parse(text);
  error(
    `What answers at ${url} is not "cover-catalogue ${program}".`,
    'Set another port, or stop the other program.',
  );
  return undefined;
}
