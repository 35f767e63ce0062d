/**
 * Entry point of `cover-catalogue generate`. The import is dynamic so that the compile cache is enabled
 * before the other modules load.
 */
import '../../program/environment/node-version.ts';
import '../../program/environment/compile-cache.ts';

await import('./generate.ts');
