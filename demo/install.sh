#!/bin/sh
# Brings what `npm run demo` needs: npm packages, without those of development.
set -eu
cd "$(dirname "$0")/.."
. install/packages.sh
install_npm_packages production
