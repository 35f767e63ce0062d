/**
 * The program of a process that pushes the current generation once, as the environment says. Programs
 * that publish start it (`start-push.ts`), so that its memory is free when it ends. The result goes to
 * stdout as one line of JSON, errors and warnings go to stderr.
 */

import { reportFailure } from '../../program/failure.ts';
import { exitOnSignals } from '../../program/invocation.ts';
import { pushAsConfigured } from './configured-push.ts';

const print = (text: string) => process.stderr.write(`${text}\n`);
const started = performance.now();
exitOnSignals();
pushAsConfigured({ report: { advance() {}, step() {}, warn: print } }).then(
  ({ pointer, ...result }) => {
    const seconds = Math.round(performance.now() - started) / 1000;
    process.stdout.write(`${JSON.stringify({ id: pointer.id, ...result, seconds })}\n`);
  },
  (error: Error) => {
    process.exitCode = reportFailure(error);
  },
);
