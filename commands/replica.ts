/** `cover-catalogue replica`, as a program. */
import '../program/environment/node-version.ts';
import { processInvocation } from '../program/invocation.ts';
import { stopWith } from '../program/service.ts';
import { runReplica } from './run-replica.ts';

const code = await runReplica(processInvocation(), stopWith);
if (code !== undefined) process.exit(code);
