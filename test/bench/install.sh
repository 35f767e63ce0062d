#!/bin/sh
# Brings what `npm run bench` needs: what the tests need, wrk, and what the product is measured
# against, in a node_modules of its own.
set -eu
cd "$(dirname "$0")/../.."
. install/packages.sh
install_npm_packages all
install_debian_packages mariadbd:mariadb-server-core mariadb-install-db:mariadb-server-core \
  mariadb:mariadb-client mariadb-dump:mariadb-client nginx:nginx wrk:wrk taskset:util-linux
cd test/bench
# The copy is made last, so a broken-off installation is taken up again.
if ! cmp -s package-lock.json node_modules/installed.json; then
  echo "Installing the npm packages to measure against …" >&2
  npm install --no-save --ignore-scripts --no-audit --no-fund --loglevel=error >&2
  cp package-lock.json node_modules/installed.json
fi
