#!/bin/sh
# Installs what `npm test` needs: all npm packages, and from Debian a database server, nginx, a browser
# systemd, which the tests boot in a container, and logrotate. With "quick" it installs only the npm packages, for
# `npm run test:quick`.
set -eu
cd "$(dirname "$0")/.."
. install/packages.sh
install_npm_packages all
install_npm_packages_in client
[ "${1-}" = quick ] && exit
install_debian_packages mariadbd:mariadb-server-core mariadb-install-db:mariadb-server-core \
  mariadb:mariadb-client mariadb-dump:mariadb-client nginx:nginx openssl:openssl chromium:chromium \
  curl:curl python3:python3 redis-server:redis-server promtool:prometheus systemd-analyze:systemd systemd-nspawn:systemd-container \
  dbus-daemon:dbus logrotate:logrotate \
  prometheus-blackbox-exporter:prometheus-blackbox-exporter
# For the full soak only: containers.
[ "${SOAK-}" = full ] || exit 0
install_debian_packages podman:podman podman-compose:podman-compose debootstrap:debootstrap
