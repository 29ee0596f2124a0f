# ARM64 from another machine: Debian's cross compiler, the headers and libraries that tools/arm64_sysroot.sh unpacked, and
# qemu to run what was built.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
get_filename_component(CMAKE_SYSROOT ${CMAKE_CURRENT_LIST_DIR}/../build/arm64-sysroot ABSOLUTE)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
get_filename_component(qemu ${CMAKE_CURRENT_LIST_DIR}/../build/arm64-qemu/usr/bin/qemu-aarch64 ABSOLUTE)  # tools/arm64_qemu.sh
set(WHARF_QEMU ${qemu} -L ${CMAKE_SYSROOT})
set(CMAKE_CROSSCOMPILING_EMULATOR ${WHARF_QEMU})
