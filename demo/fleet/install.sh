#!/bin/sh
# Installs what `npm run demo:fleet` needs: npm packages, and from Debian Redis and nginx.
set -eu
cd "$(dirname "$0")/../.."
. demo/packages.sh
install_npm_packages production
install_debian_packages redis-server:redis-server nginx:nginx
