#!/bin/bash
# Unpacks packages for ARM64 that were built here in an empty folder, with those that they depend on, as apt would choose
# them for an empty system. Nothing of them is run: no user is made, no service is known.
#   tools/arm64_root.sh FOLDER DEB…
set -euo pipefail
root=$(realpath -m "$1")
shift
mapfile -t debs < <(realpath "$@")
cd "$(dirname "$0")/.."
apt=$PWD/build/arm64-apt
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
source tools/sysroot.sh
configure_apt arm64
cp "${debs[@]}" "$apt/cache/archives"  # where those of the mirror are
mkdir -p "$root"
unpack_packages "${debs[@]}"
