/**
 * Ends a command whose output cannot be written (a full disk, a reader that is gone) with 1 and a
 * line that says so. Imported for its effect by programs that print data.
 */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.stderr.write(`The output could not be written: ${error.message}.\n`);
  process.exit(1);
});
