/**
 * Keeps the compiled form of every module that is imported from here on, in this thread and those
 * that it starts: a program that ends after seconds spends a good part of them on compiling. A
 * folder that cannot be written to does no harm.
 */
import { enableCompileCache } from 'node:module';
import path from 'node:path';

process.env.NODE_COMPILE_CACHE ??= path.join(
  import.meta.dirname,
  '../node_modules/.cache/compiled',
);
enableCompileCache(process.env.NODE_COMPILE_CACHE);
