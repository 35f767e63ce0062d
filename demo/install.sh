#!/bin/sh
# Installs the npm packages that `npm run demo` needs, without development packages.
set -eu
cd "$(dirname "$0")/.."
. demo/packages.sh
install_npm_packages production
