# The same as Debian11Toolchain.cmake for ARM64: Debian's cross compiler with what `tools/debian11_sysroot.sh --arm64` made
# around it. qemu runs what was built, in a root of Debian 11 for ARM64.
set(wharf_processor aarch64)
set(wharf_name debian11-arm64)
include(${CMAKE_CURRENT_LIST_DIR}/Debian11Toolchain.cmake)
get_filename_component(qemu ${CMAKE_CURRENT_LIST_DIR}/../build/arm64-qemu/usr/bin/qemu-aarch64 ABSOLUTE)  # tools/arm64_qemu.sh
set(WHARF_QEMU ${qemu} -L ${CMAKE_SYSROOT})
list(APPEND CMAKE_CROSSCOMPILING_EMULATOR --arm64)
foreach(language C CXX)  # where native compilers look by themselves
  set(CMAKE_${language}_STANDARD_INCLUDE_DIRECTORIES ${CMAKE_SYSROOT}/usr/local/include)
endforeach()
