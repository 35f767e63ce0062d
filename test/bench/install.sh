#!/bin/sh
# Installs what `npm run bench` needs: the packages of the tests, wrk, and fastify to compare the product with, in
# a node_modules of its own.
set -eu
cd "$(dirname "$0")/../.."
. demo/packages.sh
install_npm_packages all
install_debian_packages mariadbd:mariadb-server-core mariadb-install-db:mariadb-server-core \
  mariadb:mariadb-client mariadb-dump:mariadb-client nginx:nginx wrk:wrk taskset:util-linux
install_npm_packages all test/bench
