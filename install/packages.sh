# Functions for the scripts that bring what a command needs, sourced with the repository root as
# the working directory. Each is silent when nothing is missing and says what it does on stderr.

# install_npm_packages all|production: makes node_modules agree with package-lock.json.
# "production" leaves development packages that are already there alone.
install_npm_packages() {
  command -v npm >/dev/null || {
    echo "npm is needed: install Node.js 20 or newer with npm." >&2
    return 1
  }
  # Two commands started at once on a fresh clone take turns.
  if command -v flock >/dev/null; then
    exec 9<package-lock.json
    flock 9
  fi
  if ! node install/up-to-date.js "$1"; then
    kinds=--include=dev
    if [ "$1" = production ] && [ ! -d node_modules/typescript ]; then kinds=--omit=dev; fi
    echo "Installing npm packages …" >&2
    # Not `npm ci`: it empties node_modules under programs that run from it.
    set -- install --no-save $kinds --include=optional --ignore-scripts --no-audit --no-fund \
      --loglevel=error
    # What a broken-off installation left behind can stop the next one.
    npm "$@" >&2 || { rm -rf node_modules && npm "$@" >&2; } || {
      echo "npm could not install the packages of package-lock.json; its message stands above." >&2
      return 1
    }
  fi
  if command -v flock >/dev/null; then exec 9<&-; fi
  # Also in this shell, which npm gave its PATH before the folder was there.
  PATH="$PWD/node_modules/.bin:$PATH" node program/environment/node-version.ts 2>/dev/null || {
    echo "Node 24 or newer is needed; the packages bring none for this machine ($(uname -sm)). Install it and try again." >&2
    return 1
  }
}

# install_debian_packages COMMAND:PACKAGE…: installs the packages of the commands that are absent.
install_debian_packages() {
  missing=
  for pair in "$@"; do
    PATH="$PATH:/usr/sbin:/sbin" command -v "${pair%%:*}" >/dev/null && continue
    case " $missing " in
      *" ${pair#*:} "*) ;;
      *) missing="$missing ${pair#*:}" ;;
    esac
  done
  [ -z "$missing" ] && return 0
  if ! command -v apt-get >/dev/null; then
    echo "The tests need what Debian calls$missing: install it and try again." >&2
    return 1
  fi
  if [ "$(id -u)" -ne 0 ]; then
    echo "The tests need Debian packages that are absent. As root, run:" >&2
    echo "  apt-get update && apt-get install --no-install-recommends$missing" >&2
    return 1
  fi
  echo "Installing Debian packages:$missing …" >&2
  export DEBIAN_FRONTEND=noninteractive
  # Runlevel 1 keeps a package's service from being started: the tests run servers of their own.
  # shellcheck disable=SC2086
  apt-get -qq update >&2 &&
    RUNLEVEL=1 apt-get -qq install --yes --no-install-recommends $missing >&2 || {
    echo "apt-get could not install$missing; its message stands above." >&2
    return 1
  }
}
