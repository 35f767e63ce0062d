/**
 * Ends a command whose output cannot be written. If the reader is gone, as after `| head`, it ends without
 * a message; if the disk is full, with an error message and exit code 1. Programs that print data import
 * this module for its effect.
 */

/** The exit code of a program that SIGPIPE ended, which Node ignores: other tools end so, too. */
const READER_GONE = 128 + 13;

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(READER_GONE);
  process.stderr.write(`The output could not be written: ${error.message}.\n`);
  process.exit(1);
});
