/**
 * `cover-catalogue generate`. What it needs is imported only once the compile cache is at work.
 */
import '../environment/node-version.ts';
import '../environment/compile-cache.ts';

await import('./command.ts');
