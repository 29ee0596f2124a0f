#!/bin/bash
# Runs a program in the root that tools/debian11_sysroot.sh made: with glibc 2.31 and nothing else of this machine's but
# this checkout, temporary files, devices, processes and the network, at their places. In name spaces of its own, whose
# mounts end with the program; its process is the one that is started here, so signals reach it. Needs to be root, or user
# name spaces. With --arm64 in the root for that processor, by tools/arm64_qemu.sh's qemu; what the program starts by itself
# is begun by the words of that as well, or by sh.
#   tools/in_debian11.sh [--arm64] PROGRAM [ARGUMENT…]
set -euo pipefail
checkout=$(realpath "$(dirname "$0")/..")
root=$checkout/build/debian11-sysroot
emulator=()
made='make debian11'
if [[ $1 == --arm64 ]]; then
  shift
  root=$checkout/build/debian11-arm64-sysroot
  emulator=("$checkout/build/arm64-qemu/usr/bin/qemu-aarch64")
  made+=-arm64
fi
if [[ ! -e $root/.made/all ]]; then
  echo "in_debian11: there is no $root: $made" >&2
  exit 1
fi
mkdir -p "$root$checkout"
user=()
[[ $(id -u) -eq 0 ]] || user=(--user --map-root-user)
enter='
  root=$1 checkout=$2 here=$3
  shift 3
  for place in /proc /dev /sys /tmp "$checkout"; do mount --rbind "$place" "$root$place" || exit 125; done
  exec unshare --root "$root" --wd "$here" "$@"'
exec unshare --mount "${user[@]}" bash -c "$enter" in_debian11 "$root" "$checkout" "$PWD" "${emulator[@]}" "$@"
