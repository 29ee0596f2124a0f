# For systems as old as Debian 11 and Ubuntu 20.04 (glibc 2.31): a copy of this machine's compiler, with the headers and
# libraries that tools/debian11_sysroot.sh unpacked and compiled around it. The C++ library is linked in: the compiler's
# own, compiled for that glibc. tools/in_debian11.sh runs what was built.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_LIBRARY_ARCHITECTURE x86_64-linux-gnu)
get_filename_component(CMAKE_SYSROOT ${CMAKE_CURRENT_LIST_DIR}/../build/debian11-sysroot ABSOLUTE)
set(CMAKE_C_COMPILER ${CMAKE_SYSROOT}/usr/bin/x86_64-linux-gnu-gcc-12)
set(CMAKE_CXX_COMPILER ${CMAKE_SYSROOT}/usr/bin/x86_64-linux-gnu-g++-12)
foreach(kind EXE SHARED)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT "-static-libgcc -Wl,--exclude-libs,ALL -Wl,--gc-sections")
endforeach()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
get_filename_component(CMAKE_CROSSCOMPILING_EMULATOR ${CMAKE_CURRENT_LIST_DIR}/../tools/in_debian11.sh ABSOLUTE)
