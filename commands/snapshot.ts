/** `cover-catalogue snapshot`, as a program. */
import '../program/environment/node-version.ts';
import { exitOnSignals, processInvocation } from '../program/invocation.ts';
import { runSnapshot } from './run-snapshot.ts';

exitOnSignals();
process.exitCode = await runSnapshot(processInvocation());
