#!/bin/sh
# Installs what `npm test` needs: all npm packages, and from Debian the servers and programs that the tests
# start. With "quick" it installs only the npm packages, for `npm run test:quick`. With SOAK=quick or
# SOAK=full it also installs what only the soak needs.
set -eu
cd "$(dirname "$0")/.."
. demo/packages.sh
install_npm_packages all
install_npm_packages all client
[ "${1-}" = quick ] && exit
install_debian_packages mariadbd:mariadb-server-core mariadb-install-db:mariadb-server-core \
  mariadb:mariadb-client mariadb-dump:mariadb-client redis-server:redis-server nginx:nginx \
  chromium:chromium openssl:openssl systemd-analyze:systemd curl:curl python3:python3
[ -n "${SOAK-}" ] || exit 0
# Converters of contracts.
install_npm_packages all test/soak/site/import
# Prometheus, and a systemd that boots in a container.
install_debian_packages promtool:prometheus \
  prometheus-blackbox-exporter:prometheus-blackbox-exporter \
  systemd-nspawn:systemd-container dbus-daemon:dbus rclone:rclone aria2c:aria2 wget:wget \
  g++:g++ pkg-config:pkg-config qmake:qtbase5-dev
[ "$SOAK" = full ] || exit 0
# Images and containers.
install_debian_packages podman:podman podman-compose:podman-compose debootstrap:debootstrap
