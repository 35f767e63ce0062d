# Functions for the scripts that install packages. Source it with the repository root as the working
# directory. The functions report what they do on stderr, and print nothing if nothing is missing.

# install_npm_packages all|production [FOLDER]: makes FOLDER/node_modules, by default that of the root,
# agree with the lock file of that folder. "production" keeps development packages that are installed.
install_npm_packages() {
  folder=${2-.}
  command -v npm >/dev/null || {
    echo "npm is needed: install Node.js 20 or newer with npm." >&2
    return 1
  }
  # Packages depend on the machine. The file is written last, so an interrupted installation is repeated.
  state="$(uname -sm) $(cksum <"$folder/package-lock.json")"
  case $(cat "$folder/node_modules/.installed" 2>/dev/null) in
    "all $state" | "$1 $state") ;;
    *)
      echo "Installing the npm packages of $folder/package-lock.json …" >&2
      # The remains of an interrupted installation can make the next one fail.
      npm_install "$1" || { rm -rf "$folder/node_modules" && npm_install "$1"; } || {
        echo "npm could not install the packages of $folder/package-lock.json; see its message above." >&2
        return 1
      }
      echo "$1 $state" >"$folder/node_modules/.installed"
      ;;
  esac
  # npm set the PATH of this shell before the folder existed, so it is added here.
  PATH="$PWD/node_modules/.bin:$PATH" node lib/program/environment/node-version.ts 2>/dev/null || {
    echo "Node 24 or newer is needed, and the packages have none for this machine ($(uname -sm)). Install it and try again." >&2
    return 1
  }
}

# Not `npm ci`: it empties node_modules while programs may be running from it.
npm_install() {
  kinds=--include=dev
  if [ "$1" = production ] && [ ! -d node_modules/typescript ]; then kinds=--omit=dev; fi
  (cd "$folder" && exec npm install --no-save $kinds --include=optional --ignore-scripts --no-audit \
    --no-fund --loglevel=error >&2)
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
