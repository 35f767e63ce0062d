/**
 * Refuses to run on a version of Node that is too old. Every program imports this module first:
 * otherwise an old Node would fail later, with an error that does not name the cause.
 */
const OLDEST_MAJOR = 24;

if (Number.parseInt(process.versions.node, 10) < OLDEST_MAJOR) {
  process.stderr.write(
    `This program needs Node ${OLDEST_MAJOR} or newer, but runs on Node ${process.versions.node}. ` +
      'Start it with bin/cover-catalogue, which finds the right version.\n',
  );
  process.exit(2);
}
