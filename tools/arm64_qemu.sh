#!/bin/bash
# Unpacks Debian's newer qemu (of backports) in build/arm64-qemu, by apt with folders of its own: it runs what is built for
# ARM64. The release's own notes every page that a program reserves, and that is a terabyte for a client, for the
# addresses of a device's memory, and 300 GB for the software device.
#   tools/arm64_qemu.sh
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD/build/arm64-qemu
apt=$root/apt
[[ ! -x $root/usr/bin/qemu-aarch64 ]] || exit 0
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
source tools/sysroot.sh

mkdir -p "$apt"
apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' 2>/dev/null |
  awk -v release="$release" '$2 == release {
    print "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]", $1, release "-backports", "main"; exit }' \
    >"$apt/sources.list"
configure_apt "$(dpkg --print-architecture)"
(cd "$apt" && apt-get "${options[@]}" download qemu-user && dpkg-deb -x qemu-user_*.deb "$root")
