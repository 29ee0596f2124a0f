#!/bin/bash
# Unpacks the packages of packages-arm64.txt that end in :arm64, and what they depend on, in build/arm64-sysroot: headers,
# libraries and the loader of Debian for ARM64, as this machine's release and mirror have them. apt works in folders of its
# own for it: the machine's packages, lists and architectures stay as they are, and no rights are needed.
# Does nothing where it ran before with the same list. Archives (50 MB) are kept in build/arm64-apt.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD/build/arm64-sysroot
apt=$PWD/build/arm64-apt
release=$(. /etc/os-release && echo "$VERSION_CODENAME")

mapfile -t wanted < <(sed -e 's/#.*//' -e 's/[[:space:]]//g' -ne 's/:arm64$//p' packages-arm64.txt | sort)
if [[ -e $root/.packages ]] && diff -q "$root/.packages" <(printf '%s\n' "${wanted[@]}") >/dev/null; then
  exit 0
fi

rm -rf "$root"
mkdir -p "$apt"/{state/lists/partial,cache/archives/partial,sources} "$root"
: >"$apt/status"

# The machine's own mirror; its other sources need not have this architecture.
apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 2>/dev/null | sort -u |
  awk -v release="$release" '$2 == release || $2 == release "-updates" || $2 == release "-security" {
    print "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]", $1, $2, $3 }' >"$apt/sources.list"
if [[ ! -s $apt/sources.list ]]; then
  echo "arm64_sysroot: apt knows no source of Debian $release here" >&2
  exit 1
fi

options=(-qq -y --no-install-recommends
  -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o "APT::Sandbox::User=$(id -un)"
  -o "Dir::Etc::SourceList=$apt/sources.list" -o "Dir::Etc::SourceParts=$apt/sources"
  -o "Dir::State=$apt/state" -o "Dir::State::status=$apt/status" -o "Dir::Cache=$apt/cache"
  -o Debug::NoLocking=1 -o Binary::apt-get::APT::Keep-Downloaded-Packages=true)
echo "arm64_sysroot: unpacking ${wanted[*]} in ${root#"$PWD/"}"
apt-get "${options[@]}" update
# What apt would install into an empty system.
apt-get "${options[@]}" --print-uris install "${wanted[@]}" | awk '{ print $2 }' >"$apt/archives"
apt-get "${options[@]}" --download-only install "${wanted[@]}"
while read -r archive; do
  dpkg-deb -x "$apt/cache/archives/$archive" "$root"
done <"$apt/archives"

# Links to /lib/… end outside of the sysroot.
find "$root" -type l -lname '/*' | while read -r link; do
  ln -sfn "$(realpath -m --relative-to="$(dirname "$link")" "$root$(readlink "$link")")" "$link"
done
printf '%s\n' "${wanted[@]}" >"$root/.packages"
