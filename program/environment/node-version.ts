/**
 * Refuses a Node that is too old. Every program imports this first: otherwise an old Node would fail
 * later, with an error that does not name the cause.
 */
const OLDEST_MAJOR = 24;

if (Number.parseInt(process.versions.node, 10) < OLDEST_MAJOR) {
  process.stderr.write(
    `Node ${OLDEST_MAJOR} or newer is needed and this is ${process.versions.node}. ` +
      'Start the program with bin/cover-catalogue, which finds the right one.\n',
  );
  process.exit(2);
}
