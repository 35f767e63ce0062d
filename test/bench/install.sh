#!/bin/sh
# Installs what `npm run bench` needs: the packages of the tests, wrk, and the alternatives to compare
# the product with, in a node_modules of its own.
set -eu
cd "$(dirname "$0")/../.."
. install/packages.sh
install_npm_packages all
install_debian_packages mariadbd:mariadb-server-core mariadb-install-db:mariadb-server-core \
  mariadb:mariadb-client mariadb-dump:mariadb-client nginx:nginx wrk:wrk taskset:util-linux
cd test/bench
# The lock file is copied last, so an interrupted installation is repeated.
if ! cmp -s package-lock.json node_modules/installed.json; then
  echo "Installing the npm packages to compare with …" >&2
  npm install --no-save --ignore-scripts --no-audit --no-fund --loglevel=error >&2
  cp package-lock.json node_modules/installed.json
fi
