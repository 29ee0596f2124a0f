# For scripts that unpack Debian's packages in a folder of their own, with an apt of its own: the machine's packages, lists
# and architectures stay as they are, and no rights are needed. Sourced, with $root, the sysroot, and $apt, where lists and
# archives are kept, set. Then $apt/sources.list is written, and

# configure_apt ARCHITECTURE: sets `options`, of apt-get.
configure_apt() {
  mkdir -p "$apt"/{state/lists/partial,cache/archives/partial,none/partial,parts}
  : >"$apt/status"
  if [[ ! -s $apt/sources.list ]]; then
    echo "$(basename "$0" .sh): apt knows no source of Debian $release here" >&2
    exit 1
  fi
  options=(-qq -y --no-install-recommends
    -o "APT::Architecture=$1" -o "APT::Architectures=$1" -o "APT::Sandbox::User=$(id -un)"
    -o "Dir::Etc::SourceList=$apt/sources.list" -o "Dir::Etc::SourceParts=$apt/parts"
    -o "Dir::State=$apt/state" -o "Dir::State::status=$apt/status" -o "Dir::Cache=$apt/cache"
    -o Debug::NoLocking=1 -o Binary::apt-get::APT::Keep-Downloaded-Packages=true)
  apt-get "${options[@]}" update
}

# unpack_packages NAME…: into $root, with all that they depend on.
unpack_packages() {
  echo "$(basename "$0" .sh): unpacking $* in ${root#"$PWD/"}"
  # What apt would install into an empty system, those that were fetched before too.
  apt-get "${options[@]}" -o "Dir::Cache::archives=$apt/none" --print-uris install "$@" | awk '{ print $2 }' >"$apt/archives"
  apt-get "${options[@]}" --download-only install "$@"
  local archive link
  while read -r archive; do
    dpkg-deb -x "$apt/cache/archives/$archive" "$root"
  done <"$apt/archives"
  # What update-alternatives would choose; OpenBLAS where it is there, which comes last.
  for archive in "$root"/usr/lib/*/{blas,lapack,openblas-pthread}/lib{blas,lapack,openblas}.so.[03]; do
    [[ ! -e $archive ]] || ln -sfr "$archive" "$(dirname "$archive")/.."
  done
  # Links to /lib/… end outside of the sysroot.
  find "$root" -type l -lname '/*' | while read -r link; do
    ln -sfn "$(realpath -m --relative-to="$(dirname "$link")" "$root$(readlink "$link")")" "$link"
  done
}

# record_packages: what dpkg would know of those that were unpacked, in $root/var/lib/dpkg. With that as its admindir,
# dpkg-shlibdeps finds the packages that programs for $root depend on. Files have the names that they have outside of it.
record_packages() {
  local database=$root/var/lib/dpkg archive package file
  mkdir -p "$database"/{info,updates}
  : >"$database/status"
  while read -r archive; do
    archive=$apt/cache/archives/$archive
    package=$(dpkg-deb -f "$archive" Package)
    dpkg-deb -f "$archive" | sed '/^Package:/a Status: install ok installed' >>"$database/status"
    echo >>"$database/status"
    dpkg-deb --fsys-tarfile "$archive" | tar -t | sed -e 's|/$||' -e "s|^\.|$root|" >"$database/info/$package.list"
    rm -rf "$apt/control"
    dpkg-deb -e "$archive" "$apt/control"
    for file in shlibs symbols; do  # of libraries
      [[ ! -e $apt/control/$file ]] || cp "$apt/control/$file" "$database/info/$package.$file"
    done
  done <"$apt/archives"
}

# packages_for SUFFIX LIST: those that end in :SUFFIX there, a line each.
packages_for() {
  sed -e 's/#.*//' -e 's/[[:space:]]//g' -ne "s/:$1\$//p" "$2"
}
