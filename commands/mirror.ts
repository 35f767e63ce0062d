/** `cover-catalogue mirror`, as a program. */
import '../program/environment/node-version.ts';
import { exitOnSignals, processInvocation } from '../program/invocation.ts';
import { runMirror } from './run-mirror.ts';

// The unfinished generation is removed; staged files stay.
exitOnSignals();
process.exitCode = await runMirror(processInvocation());
