# Functions for the scripts that install packages. Source it with the repository root as the working
# directory. The functions report what they do on stderr, and print nothing if nothing is missing.

# install_npm_packages all|production: makes node_modules agree with package-lock.json.
# "production" keeps development packages that are already installed.
install_npm_packages() {
  command -v npm >/dev/null || {
    echo "npm is needed: install Node.js 20 or newer with npm." >&2
    return 1
  }
  # If two commands start at once on a fresh clone, one waits for the other.
  if command -v flock >/dev/null; then
    exec 9<package-lock.json
    flock 9
  fi
  if ! node install/up-to-date.js "$1"; then
    kinds=--include=dev
    if [ "$1" = production ] && [ ! -d node_modules/typescript ]; then kinds=--omit=dev; fi
    echo "Installing npm packages …" >&2
    # Not `npm ci`: it empties node_modules while programs may be running from it.
    set -- install --no-save $kinds --include=optional --ignore-scripts --no-audit --no-fund \
      --loglevel=error
    # The remains of an interrupted installation can make the next one fail.
    npm "$@" >&2 || { rm -rf node_modules && npm "$@" >&2; } || {
      echo "npm could not install the packages of package-lock.json; see its message above." >&2
      return 1
    }
  fi
  if command -v flock >/dev/null; then exec 9<&-; fi
  # npm set the PATH of this shell before the folder existed, so it is added here.
  PATH="$PWD/node_modules/.bin:$PATH" node program/environment/node-version.ts 2>/dev/null || {
    echo "Node 24 or newer is needed, and the packages have none for this machine ($(uname -sm)). Install it and try again." >&2
    return 1
  }
}

# install_npm_packages_in FOLDER: makes FOLDER/node_modules agree with the lock file of that folder.
# The lock file is copied last, so an interrupted installation is repeated.
install_npm_packages_in() {
  cmp -s "$1/package-lock.json" "$1/node_modules/installed.json" && return 0
  echo "Installing npm packages for $1 …" >&2
  (
    cd "$1"
    npm install --no-save --ignore-scripts --no-audit --no-fund --loglevel=error >&2 &&
      cp package-lock.json node_modules/installed.json
  ) || {
    echo "npm could not install the packages of $1/package-lock.json; see its message above." >&2
    return 1
  }
}

# install_debian_packages COMMAND:PACKAGE…: installs the packages of missing commands.
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
    echo "Programs are missing (in Debian:$missing). Install them and try again." >&2
    return 1
  fi
  if [ "$(id -u)" -ne 0 ]; then
    echo "Debian packages are missing. As root, run:" >&2
    echo "  apt-get update && apt-get install --no-install-recommends$missing" >&2
    return 1
  fi
  echo "Installing Debian packages:$missing …" >&2
  export DEBIAN_FRONTEND=noninteractive
  # Runlevel 1 prevents packages from starting services: the tests start their own servers.
  # shellcheck disable=SC2086
  apt-get -qq update >&2 &&
    RUNLEVEL=1 apt-get -qq install --yes --no-install-recommends $missing >&2 || {
    echo "apt-get could not install$missing; see its message above." >&2
    return 1
  }
}
