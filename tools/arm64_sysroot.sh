#!/bin/bash
# Unpacks the packages of packages-arm64.txt that end in :arm64, and what they depend on, in build/arm64-sysroot: headers,
# libraries and the loader of Debian for ARM64, as this machine's release and mirror have them. apt works in folders of its
# own for it: the machine's packages, lists and architectures stay as they are, and no rights are needed.
# With --models also those that end in :arm64-models, of which what computes models is built, and with --server those that
# end in :arm64-server, for servers of programs and for tests. What was asked for before stays. Does nothing where all of
# them are there. Archives (50 MB; with models 270, with server 150) are kept in build/arm64-apt.
#   tools/arm64_sysroot.sh [--models] [--server]
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD/build/arm64-sysroot
apt=$PWD/build/arm64-apt
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
source tools/sysroot.sh

wanted_packages() {
  local part
  for part in arm64 "${@/#--/arm64-}"; do
    packages_for "$part" packages-arm64.txt
  done
  cat "$root/.packages" 2>/dev/null || true
}
mapfile -t wanted < <(wanted_packages "$@" | sort -u)
if [[ -e $root/.packages && -e $root/var/lib/dpkg/status && -z $(comm -13 "$root/.packages" <(printf '%s\n' "${wanted[@]}")) ]]; then
  exit 0
fi

rm -rf "$root"
mkdir -p "$apt" "$root"

# The machine's own mirror; its other sources need not have this architecture.
apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 2>/dev/null | sort -u |
  awk -v release="$release" '$2 == release || $2 == release "-updates" || $2 == release "-security" {
    print "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]", $1, $2, $3 }' >"$apt/sources.list"
configure_apt arm64
unpack_packages "${wanted[@]}"
record_packages
printf '%s\n' "${wanted[@]}" >"$root/.packages"
