/** `cover-catalogue snapshot`, as a program. */
import '../program/environment/node-version.ts';
import '../program/standard-output.ts';
import { exitOnSignals } from '../program/exit-on-signals.ts';
import { processInvocation } from '../program/invocation.ts';
import { runSnapshot } from './run-snapshot.ts';

exitOnSignals();
process.exitCode = await runSnapshot(processInvocation());
