/**
 * Turns on Node's compile cache for the modules that are imported after this one, in this thread and
 * in the threads that it starts. Without the cache, a program that runs for seconds spends much of
 * that time compiling. If the folder is not writable, Node compiles without a cache.
 */
import { enableCompileCache } from 'node:module';
import path from 'node:path';

process.env.NODE_COMPILE_CACHE ??= path.join(
  import.meta.dirname,
  '../../node_modules/.cache/compiled',
);
enableCompileCache(process.env.NODE_COMPILE_CACHE);
