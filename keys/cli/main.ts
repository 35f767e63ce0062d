/** `cover-catalogue keys`, as a program. */
import '../../program/environment/node-version.ts';
import { processInvocation } from '../../program/invocation.ts';
import { runKeys } from './run-keys.ts';

process.exitCode = await runKeys(processInvocation());
