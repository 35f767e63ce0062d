/** The running programs: what they report at their admin addresses, if they listen there. */
import { currentId } from '../../../lib/generations/generations.ts';
import { type AdminProgram, adminPortOf } from '../../../lib/program/admin/program-admin.ts';
import { messageOf } from '../../../lib/program/failure.ts';
import { type Check, type CheckContext, type Findings, requireValue } from '../check.ts';

/** `schedule` confirms the keys every two seconds, and a replica every second. */
const OLD_KEYS_SECONDS = 60;

/** The members of `/readyz` that the checks read, besides the errors. */
interface State {
  /** Of the account pages. */
  readonly database?: boolean;
  /** Of the schedule: that an operator holds publishing, and why. */
  readonly held?: string | null;
  /** Of the proxy. */
  readonly snapshot: string | null;
  readonly keys: number | null;
  readonly keys_age_seconds: number | null;
}

export const proxy = programCheck('running proxy', 'proxy', (state, context, { warn }) => {
  const { snapshot, keys, keys_age_seconds: age } = state;
  if (keys === 0) {
    warn(
      'The proxy knows no keys: it refuses every key that a client sends.',
      'If keys were issued before, see operations/runbooks/restore.md. Otherwise run "cover-catalogue keys issue".',
    );
  } else if ((age ?? 0) > OLD_KEYS_SECONDS) {
    warn(
      `The keys last agreed with the database ${age} seconds ago: a revoked key still works.`,
      'Start "cover-catalogue schedule" (or, on a replica, "cover-catalogue replica"), and look at its log.',
    );
  }
  const current = currentId(requireValue(context, 'SNAPSHOTS_DIR'));
  if (snapshot === null || snapshot === current) return;
  warn(
    `The proxy serves ${snapshot}, but ${current ?? 'nothing'} is current in SNAPSHOTS_DIR.`,
    'If this stays so for more than a few seconds, the proxy reads another folder or refuses the generation: see its log.',
  );
});
export const schedule = programCheck('running schedule', 'schedule', ({ held }, _, { warn }) => {
  if (held) warn(held, 'When the data is right, run "cover-catalogue snapshot resume".');
});
export const account = programCheck('running account pages', 'account', (state, _, { error }) => {
  if (state.database !== false) return;
  error(
    '"cover-catalogue account" cannot read the database.',
    'Correct what the checks of the database report. If it is lost, see operations/runbooks/restore.md.',
  );
});
export const replica = programCheck('running replica', 'replica');

/** Asks a program for its `/readyz`, and reports whether it is ready, and every error in the answer. */
function programCheck(
  name: string,
  program: AdminProgram,
  examine: (state: State, context: CheckContext, findings: Findings) => void = () => {},
): Check {
  const what = `"cover-catalogue ${program}"`;
  return {
    name,
    programs: [program],
    fix: `Look at its log: journalctl -u cover-catalogue-${program} -n 50`,
    async run(context, findings) {
      const { ok, warn, error } = findings;
      const host = requireValue(context, 'ADMIN_HOST');
      // A server may listen on all addresses; a client connects to one.
      const target = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
      const port = adminPortOf(program, requireValue(context, 'ADMIN_PORT'));
      const url = `http://${target.includes(':') ? `[${target}]` : target}:${port}/readyz`;
      let text: string;
      try {
        text = await (await fetch(url, { redirect: 'manual' })).text();
      } catch (cause) {
        // Without the schedule, revoked keys keep working and the data grows old. Others may run elsewhere.
        const report = program === 'schedule' ? error : warn;
        report(
          `${what} does not answer at ${url}: ${messageOf((cause as Error).cause ?? cause)}.`,
          'Start it, if it should run on this machine. If it runs, look at its log.',
        );
        return;
      }
      if (!text.startsWith(`{"program":"${program}",`)) {
        const fix = 'Set another port, or stop the other program.';
        error(`What answers at ${url} is not ${what}.`, fix);
        return;
      }
      const state = JSON.parse(text);
      if (state.ready) ok(`${what} is ready.`);
      else error(`${what} is not ready.`, 'If it has not just been started, see its log.');
      for (const [where, fault] of errorsIn(state)) {
        error(`${what} reports "${where}": ${fault}`, 'Correct what the message names.');
      }
      examine(state, context, findings);
    },
  };
}

/** The errors in an answer, each with the path to it: those of tasks, of parts, and the list of faults. */
function errorsIn(value: object, path = ''): (readonly [path: string, fault: string])[] {
  // `held` says whether publishing is held now; the last run may have ended before it was resumed.
  if ('outcome' in value && value.outcome === 'held') return [];
  return Object.entries(value).flatMap(([name, member]: [string, unknown]) => {
    const isFault = name.endsWith('error') || path.endsWith('faults');
    if (isFault && typeof member === 'string') return [[path || name, member]];
    return typeof member === 'object' && member !== null ? errorsIn(member, name) : [];
  });
}
