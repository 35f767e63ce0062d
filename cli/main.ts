/**
 * Starts a command: `node cli/main.ts COMMAND …`, as `bin/cover-catalogue` does after it has checked the
 * name. Each command is a file of this folder. It prints its own errors and returns its exit code, or
 * undefined if it runs until a signal.
 */
import '../lib/program/environment/node-version.ts';
import { exitOnSignals, type Invocation, processInvocation } from '../lib/program/invocation.ts';
import { stopOnSignals } from '../lib/program/service.ts';

type Run = (invocation: Invocation) => Promise<number | undefined>;

/** Each loads its own modules: a command starts in half the time without those of the others. */
const COMMANDS: Readonly<Record<string, () => Promise<Run>>> = {
  generate: async () => (await import('./generate.ts')).runGenerator,
  schedule: async () => (await import('./schedule.ts')).runSchedule,
  proxy: async () => (await import('./proxy.ts')).runProxy,
  account: async () => (await import('./account.ts')).runAccount,
  keys: async () => (await import('./keys.ts')).runKeys,
  push: async () => (await import('./push.ts')).runPush,
  replica: async () => (await import('./replica.ts')).runReplica,
  snapshot: async () => (await import('./snapshot.ts')).runSnapshot,
  doctor: async () => (await import('./doctor.ts')).runDoctor,
};
/** Those that a signal ends with exit code 0. */
const SERVICES = ['schedule', 'proxy', 'account', 'replica'];

const [name = '', ...words] = process.argv.slice(2);
const isService = SERVICES.includes(name);
// Before anything is loaded, so that an early signal is not lost.
if (isService) stopOnSignals();
else exitOnSignals();
const run = await COMMANDS[name]?.();
const code = await run?.(processInvocation(words));
process.exitCode = code;
// What is still open must not keep the process: of a service that could not start, or of a check of the
// doctor that did not end in time.
if (code !== undefined && (isService || name === 'doctor')) {
  process.stdout.write('', () => process.exit(code));
}
