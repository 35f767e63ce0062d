/**
 * `cover-catalogue generate`. What it needs is imported only once the compile cache is at work.
 */
import '../../program/environment/node-version.ts';
import '../../program/environment/compile-cache.ts';

await import('./generate.ts');
