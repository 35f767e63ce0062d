/** `cover-catalogue doctor`, as a program. */
import '../program/environment/node-version.ts';
import { exitOnSignals, processInvocation } from '../program/invocation.ts';
import { runDoctor } from './run-doctor.ts';

exitOnSignals();
const code = await runDoctor(processInvocation());
// A check that did not end in time may still hold a socket or a timer.
process.stdout.write('', () => process.exit(code));
