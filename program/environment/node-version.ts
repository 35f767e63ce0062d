/**
 * Imported first by every program: an older Node would fail later and say something else.
 */
const OLDEST_MAJOR = 24;

if (Number.parseInt(process.versions.node, 10) < OLDEST_MAJOR) {
  process.stderr.write(
    `Node ${OLDEST_MAJOR} or newer is needed and this is ${process.versions.node}. ` +
      'Start the program with bin/cover-catalogue, which finds the right one.\n',
  );
  process.exit(2);
}
