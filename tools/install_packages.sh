#!/bin/bash
# Installs the Debian packages of packages.txt, or of another list, that are missing: those of this machine's architecture.
# Does nothing, and needs no rights, when none is.
#   tools/install_packages.sh [--list] [FILE]      --list prints the missing ones and stops
set -euo pipefail
cd "$(dirname "$0")/.."

list=
if [[ ${1:-} == --list ]]; then
  list=yes
  shift
fi
mapfile -t wanted < <(sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' -e '/:/d' "${1:-packages.txt}")

if ! command -v dpkg-query >/dev/null; then
  echo "install_packages: this is no Debian; see to it that the equivalents of packages.txt are installed" >&2
  exit 0
fi

missing=()
for package in "${wanted[@]}"; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ $status == installed ]] || missing+=("$package")
done

if [[ -n $list ]]; then
  [[ ${#missing[@]} -eq 0 ]] || printf '%s\n' "${missing[@]}"
  exit 0
fi
[[ ${#missing[@]} -gt 0 ]] || exit 0

as_root=()
if [[ $(id -u) -ne 0 ]]; then
  if ! command -v sudo >/dev/null; then
    echo "install_packages: not root and no sudo; have an administrator run: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "install_packages: installing ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
