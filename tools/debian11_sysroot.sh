#!/bin/bash
# Unpacks the packages of packages-debian11.txt that end in :debian11, and what they depend on, in build/debian11-sysroot:
# glibc 2.31 and what was compiled against it. Compiles those that end in :source there, as static libraries in usr/local,
# and puts this machine's libraries of headers beside them. apt works in folders of its own for it: the machine's packages
# and lists stay as they are, and no rights are needed.
# Does nothing where it ran before with the same list. What it fetches (150 MB) is kept in build/debian11-apt.
# With --arm64 the same for that processor, by Debian's cross compiler, in build/debian11-arm64-sysroot and -apt.
#   tools/debian11_sysroot.sh [--arm64]
set -euo pipefail
cd "$(dirname "$0")/.."
name=debian11
architecture=amd64
triple=x86_64-linux-gnu
gcc=usr/lib/gcc/$triple/12
openssl=linux-x86_64
toolchain=$PWD/cmake/Debian11Toolchain.cmake
if [[ ${1:-} == --arm64 ]]; then
  name=debian11-arm64
  architecture=arm64
  triple=aarch64-linux-gnu
  gcc=usr/lib/gcc-cross/$triple/12
  openssl=linux-aarch64
  toolchain=$PWD/cmake/Debian11Arm64Toolchain.cmake
fi
root=$PWD/build/$name-sysroot
apt=$PWD/build/$name-apt
list=packages-debian11.txt
jobs=${JOBS:-$(nproc)}
source tools/sysroot.sh

made=$root/.made  # a copy of the list when all is unpacked, and a file for each package that has been compiled
if diff -q "$made/list" "$list" &>/dev/null && [[ -e $made/all ]]; then
  exit 0
fi
mapfile -t wanted < <(packages_for debian11 "$list")
mapfile -t sources < <(packages_for source "$list")

mkdir -p "$apt"

# Debian 11 from the machine's own mirror, and the sources of the machine's release.
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
# A package that several archives have is taken from the first.
apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 2>/dev/null | sort -u -k 2 |
  awk -v release="$release" '$2 == release || $2 == release "-updates" || $2 == release "-security" {
    signed = "[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]"
    print "deb-src", signed, $1, $2, $3
    sub(release, "bullseye", $2)
    print "deb", signed, $1, $2, $3 }' >"$apt/sources.list"
configure_apt $architecture

unpack() {
  rm -rf "$root"
  mkdir -p "$made"
  # A mirror may not have the newest security updates of so old a release.
  if ! apt-get "${options[@]}" --download-only install "${wanted[@]}"; then
    echo "debian11_sysroot: taking the release's own packages"
    options+=(-t bullseye)
  fi
  unpack_packages "${wanted[@]}"
  rm -f "$root/bin/sh"
  if [[ $architecture == amd64 ]]; then
    ln -s bash "$root/bin/sh"  # which dash would make as it is installed
  else
    # The kernel starts no program of another processor, but a script by what its first line names: sh -c [--] COMMAND.
    printf '%s\n' "#!$PWD/build/arm64-qemu/usr/bin/qemu-aarch64 /bin/bash" \
      '[[ $1 == -c ]] && shift; [[ $1 != -- ]] || shift; eval "$1"' >"$root/bin/sh"
    chmod +x "$root/bin/sh"
  fi
  # These are linked in: what is not there is not linked dynamically.
  rm -f "$root/usr/lib/$triple"/{libzstd,liblz4}.so
  # Libraries of headers, as installed here.
  dpkg -L libcli11-dev nlohmann-json3-dev libxxhash-dev libeigen3-dev |
    grep -E '^/usr/(include|share/cmake|share/eigen3)/' | while read -r file; do
    [[ -d $file ]] || install -D -m 644 "$file" "$root/usr/local/${file#/usr/}"
  done
  copy_compiler
  cp "$list" "$made/list"
}

launcher=
if command -v ccache >/dev/null; then
  launcher='ccache '
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
fi
export AR=$triple-ar RANLIB=$triple-ranlib
export CC="$launcher$root/usr/bin/$triple-gcc-12 --sysroot=$root" CXX="$launcher$root/usr/bin/$triple-g++-12 --sysroot=$root"
flags='-O2 -fPIC -ffunction-sections -fdata-sections'

# This machine's compiler, which looks for everything relatively to where it is: there, for what is there. It has no shared
# C++ library, so that is linked in.
copy_compiler() {
  local driver from=/$gcc to=$root/$gcc
  install -d "$root/usr/bin" "$to"
  for driver in "$triple-gcc-12" "$triple-g++-12"; do
    cp -L "/usr/bin/$driver" "$root/usr/bin/"
    # By size and time ccache would take it for this machine's.
    touch -d "$(date -R -r "/usr/bin/$driver") + 1 hour" "$root/usr/bin/$driver"
  done
  cp -pr "$from"/{cc1,cc1plus,collect2,lto-wrapper,liblto_plugin.so,include} "$from"/crt*.o "$from/libgcc.a" "$to/"
  # A cross compiler looks for assembler and linker beside itself.
  if [[ $architecture == arm64 ]]; then
    install -d "$root/usr/$triple"
    ln -s "/usr/$triple/bin" "$root/usr/$triple/bin"
  fi
  # What unwinds the stack, behind an interface that is the same in both; this machine's needs a newer glibc.
  cp -p "$root/usr/lib/gcc/$triple/10"/{libgcc_eh.a,libgcc_s.so,libatomic.a} "$to/"
}

# The C++ library of that compiler, with those changes of Debian's that concern it.
build_gcc() {
  local name
  name=$(basename gcc-*-dfsg.tar.xz -dfsg.tar.xz)
  tar -xf "$name-dfsg.tar.xz" --exclude '*/doc/html/*' --exclude '*/testsuite/[0-9e]*' \
    "$name"/{libstdc++-v3,libgcc,libiberty,include,config,config-ml.in,config.guess,config.rpath,config.sub} \
    "$name"/{install-sh,ltmain.sh,missing,mkinstalldirs} "$name"/gcc/{BASE-VER,DATESTAMP}
  # git leaves out what is in a repository and not in its care, unless it is told of none.
  (cd "$name" && GIT_CEILING_DIRECTORIES=$PWD git apply -p2 --include='libstdc++-v3/include/*' \
    --include='libstdc++-v3/libsupc++/*' ../debian/patches/git-updates.diff)
  ln -s gthr-posix.h "$name/libgcc/gthr-default.h"  # GCC's own configure makes this link
  mkdir build
  cd build
  "../$name/libstdc++-v3/configure" --build="$(gcc -dumpmachine)" --host="$triple" --prefix=/usr \
    --with-gxx-include-dir=/usr/include/c++/12 --disable-multilib --disable-shared --disable-nls --disable-libstdcxx-pch \
    --enable-libstdcxx-time=yes --enable-clocale=gnu CFLAGS="$flags" CXXFLAGS="$flags" \
    CXX="$CC -nostdinc++"  # gcc, as in GCC's own build: g++ would link the library that is yet to be made
  make -j "$jobs"
  make -C include install DESTDIR="$root"
  make -C libsupc++ install DESTDIR="$root"
  if [[ $architecture == amd64 ]]; then  # where Debian's compilers look
    install -d "$root/usr/include/$triple/c++"
    mv "$root/usr/include/c++/12/$triple" "$root/usr/include/$triple/c++/12"
  else
    install -d "$root/usr/$triple/include"
    mv "$root/usr/include/c++" "$root/usr/$triple/include/"
  fi
  install -m 644 src/.libs/libstdc++.a "$root/$gcc/"
}

build_with_cmake() {  # OPTION…
  env -u CC -u CXX -u AR -u RANLIB cmake -S . -B build-debian11 -G Ninja --toolchain "$toolchain" \
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_CXX_STANDARD=20 \
    -DCMAKE_CXX_FLAGS="-fvisibility=hidden -ffunction-sections -fdata-sections" -DBUILD_SHARED_LIBS=OFF \
    -DCMAKE_INSTALL_PREFIX=/usr/local -DCMAKE_INSTALL_LIBDIR=lib "$@"
  cmake --build build-debian11 -j "$jobs"
  DESTDIR=$root cmake --install build-debian11
}

build_openssl() {  # finds configuration and certificates where Debian's does; loads nothing of its own
  perl Configure "$openssl" --prefix=/usr/local --libdir=lib --openssldir=/usr/lib/ssl $flags -fvisibility=hidden \
    no-shared no-module no-legacy no-tests
  make -j "$jobs" build_generated
  make -j "$jobs" libcrypto.a libssl.a
  install -d "$root/usr/local/include/openssl" "$root/usr/local/lib"
  install -m 644 include/openssl/*.h "$root/usr/local/include/openssl"
  install -m 644 libcrypto.a libssl.a "$root/usr/local/lib"
}

compile() {
  rm -rf "$apt/sources"
  mkdir "$apt/sources"
  cd "$apt/sources"
  # A mirror may have no sources of the newest security updates.
  apt-get "${options[@]}" --only-source source "$1" || apt-get "${options[@]}" --only-source source "$1/$release"
  cd "$apt/sources/$1"-*/
  case $1 in
    gcc-12) build_gcc ;;
    abseil) build_with_cmake -DABSL_PROPAGATE_CXX_STD=ON -DBUILD_TESTING=OFF ;;
    fmtlib) build_with_cmake -DFMT_TEST=OFF -DFMT_DOC=OFF ;;
    openssl) build_openssl ;;
    *) echo "nobody has said how to compile $1" && return 1 ;;
  esac
  cp "$apt/sources"/*.dsc "$made/$1"  # which says what version it was
}

diff -q "$made/list" "$list" &>/dev/null || unpack
log=$apt/compile.log
exec 3>&2
trap '(($? == 0)) || tail -n 50 "$log" >&3' EXIT
for package in "${sources[@]}"; do
  [[ ! -e $made/$package ]] || continue
  echo "debian11_sysroot: compiling $package"
  compile "$package" >"$log" 2>&1
done
rm -rf "$apt/sources"
touch "$made/all"
