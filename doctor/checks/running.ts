/** The running programs: what they report at their admin addresses, if they listen there. */

import { currentId } from '../../generations/generations.ts';
import { type AdminProgram, adminPortOf } from '../../program/admin/program-admin.ts';
import { type Check, type Findings, requireValue, type Scene } from '../findings/check.ts';
import { addressOf, ask } from './ask.ts';

/** `schedule` confirms the keys every two seconds, and a replica every second. */
const OLD_KEYS_SECONDS = 60;

/** The members of `/readyz` that the check reads. */
interface Readiness {
  readonly ready: boolean;
  readonly stopping: boolean;
  readonly snapshot: string | null;
  readonly refused: { readonly id: string; readonly error: string } | null;
  readonly keys: number | null;
  readonly keys_error: string | null;
  readonly keys_age_seconds: number | null;
  readonly replica: { readonly error: string | null } | null;
  readonly limits: { readonly mode: string; readonly error: string | null } | null;
  readonly faults: readonly string[];
}

export const proxy: Check = {
  name: 'running proxy',
  programs: ['proxy'],
  async run(scene, findings) {
    const url = addressOf(requireValue(scene, 'ADMIN_HOST'), requireValue(scene, 'ADMIN_PORT'));
    const state = await ask(
      { url: `${url}/readyz`, name: 'the proxy', start: '"cover-catalogue proxy"' },
      findings,
    );
    if (state === undefined) return;
    if (!isReadiness(state)) {
      findings.error(
        `What answers at ${url} is not this proxy.`,
        'Set ADMIN_PORT to a free port, or stop the other program.',
      );
      return;
    }
    reportState(state, findings);
    const current = currentId(requireValue(scene, 'SNAPSHOTS_DIR'));
    if (state.snapshot !== null && state.snapshot !== current) {
      findings.warn(
        `The proxy serves ${state.snapshot}, but ${current ?? 'nothing'} is current in SNAPSHOTS_DIR.`,
        'If this stays so for more than a few seconds, the proxy reads another folder or refuses the generation: see its log.',
      );
    }
  },
};

export const account: Check = {
  name: 'running account pages',
  programs: ['account'],
  async run(scene, findings) {
    const url = addressOf(requireValue(scene, 'ACCOUNT_HOST'), requireValue(scene, 'ACCOUNT_PORT'));
    const start = '"cover-catalogue account"';
    const answer = await ask({ url: `${url}/account`, name: 'the account pages', start }, findings);
    if (answer !== undefined) findings.ok(`The account pages answer at ${url}.`);
    await askAboutTasks(scene, 'account', start, findings);
  },
};

export const schedule: Check = {
  name: 'running schedule',
  programs: ['schedule'],
  run: (scene, findings) =>
    askAboutTasks(scene, 'schedule', '"cover-catalogue schedule"', findings),
};

export const replica: Check = {
  name: 'running replica',
  programs: ['replica'],
  run: (scene, findings) => askAboutTasks(scene, 'replica', '"cover-catalogue replica"', findings),
};

/** The members of `/readyz` of these programs that the check reads. */
interface TaskStates {
  readonly ready: boolean;
  readonly tasks: Readonly<Record<string, { readonly error: string | null }>>;
  /** Whether the account pages can read the database; other programs do not say. */
  readonly database?: boolean;
}

/** Reports the tasks of a program that fail, such as exporting keys. */
async function askAboutTasks(
  scene: Scene,
  program: AdminProgram,
  start: string,
  findings: Findings,
): Promise<void> {
  const port = adminPortOf(program, requireValue(scene, 'ADMIN_PORT'));
  const url = addressOf(requireValue(scene, 'ADMIN_HOST'), port);
  // Without the schedule, revoked keys keep working and the data grows old. Other programs may run elsewhere.
  const reportDown = program === 'schedule' ? findings.error : findings.warn;
  const state = await ask({ url: `${url}/readyz`, name: start, start }, findings, reportDown);
  if (state === undefined) return;
  if (!isTaskStates(state)) {
    findings.error(
      `What answers at ${url} is not ${start}.`,
      'Set ADMIN_PORT to another port, or stop the other program.',
    );
    return;
  }
  const failing = Object.entries(state.tasks).filter(([, { error }]) => error !== null);
  for (const [task, { error }] of failing) {
    findings.error(
      `${start} fails at ${JSON.stringify(task)}: ${error}`,
      'Correct what the message names. The program tries again by itself.',
    );
  }
  if (state.database === false) {
    findings.error(
      `${start} cannot read the database.`,
      'Correct what the checks "database" and "tables of API keys" report. If the database is lost, see operations/runbooks/database-lost.md.',
    );
  } else if (failing.length === 0 && state.ready) findings.ok(`${start} runs, and nothing fails.`);
  else if (failing.length === 0) findings.warn(`${start} is not ready.`, 'Wait for its start.');
}

function isTaskStates(found: unknown): found is TaskStates {
  return typeof found === 'object' && found !== null && 'ready' in found && 'tasks' in found;
}

function isReadiness(found: unknown): found is Readiness {
  return typeof found === 'object' && found !== null && 'ready' in found && 'faults' in found;
}

function reportState(state: Readiness, { ok, warn, error }: Findings): void {
  if (state.ready) ok(`The proxy serves ${state.snapshot} and knows ${state.keys} keys.`);
  else if (state.stopping) warn('The proxy is stopping.', 'Wait for its restart.');
  else error('The proxy runs, but is not ready.', 'The following findings say why.');
  if (state.refused !== null) {
    error(
      `The proxy refuses the generation ${state.refused.id}: ${state.refused.error}`,
      'Run "cover-catalogue snapshot verify", then generate again or roll back.',
    );
  }
  if (state.snapshot === null) {
    error(
      'The proxy has no generation in memory.',
      'Run "cover-catalogue generate" with the same SNAPSHOTS_DIR.',
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
      'If keys were issued before, restore them: see operations/runbooks/database-lost.md. Otherwise run "cover-catalogue keys issue".',
    );
  }
  if (
    state.keys !== null &&
    state.keys_error === null &&
    (state.keys_age_seconds ?? 0) > OLD_KEYS_SECONDS
  ) {
    warn(
      `The keys last agreed with the database ${state.keys_age_seconds} seconds ago: a revoked key still works.`,
      'Start "cover-catalogue schedule" (or, on a replica, "cover-catalogue replica"), and look at its log.',
    );
  }
  for (const fault of state.faults)
    error(`The proxy reports: ${fault}`, 'Correct what the message names.');
  if (state.replica?.error) {
    error(`The replica reports: ${state.replica.error}`, 'See "Replicas" in OPERATIONS.md.');
  }
  if (state.limits?.error) {
    error(
      `The proxy cannot share its limits: ${state.limits.error}`,
      'Start the server of LIMITS_URL; see "Limits over several proxies" in OPERATIONS.md.',
    );
  }
}
