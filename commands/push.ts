/** `cover-catalogue push`, as a program. */
import '../program/environment/node-version.ts';
import { exitOnSignals, processInvocation } from '../program/invocation.ts';
import { runPush } from './run-push.ts';

// The next push finds what a killed one has sent.
exitOnSignals();
process.exitCode = await runPush(processInvocation());
