#!/bin/sh
# Runs the soak, or the files of it that are named: `npm run soak -- --quick test/soak/fleet`.
set -eu
export SOAK=full
if [ "${1-}" = --quick ]; then
  SOAK=quick
  shift
fi
sh test/install.sh
exec vitest run "$@"
