/**
 * Runs V8's garbage collection at once. V8 does not count shared memory, so it would keep the hundreds
 * of megabytes of a closed generation until other objects fill the heap. In a proxy with few requests,
 * that can take hours.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');

/** Takes some milliseconds, about as long as a garbage collection that V8 starts itself. */
export const collectGarbage: () => void = runInNewContext('gc');
