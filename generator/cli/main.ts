/** `cover-catalogue generate`, as a program. */
import '../../program/environment/node-version.ts';
import { exitOnSignals, processInvocation } from '../../program/invocation.ts';
import { runGenerator } from './run-generator.ts';

// The unfinished generation is removed.
exitOnSignals();
process.exitCode = await runGenerator(processInvocation());
