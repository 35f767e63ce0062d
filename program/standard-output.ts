/**
 * Ends a command with an error message and exit code 1 if its output cannot be written, because the
 * disk is full or the reader is gone. Programs that print data import this module for its effect.
 */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.stderr.write(`The output could not be written: ${error.message}.\n`);
  process.exit(1);
});
