# Run by `cmake --install`: in what CMake finds of Wharf, names of the libraries that are in `system_libraries` instead of
# their places, which may be a sysroot's here or where programs are built.
cmake_policy(VERSION 3.25)
file(GLOB files $ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/lib/cmake/Wharf/Wharf*Targets.cmake)
foreach(file ${files})
  file(READ ${file} text)
  string(REPLACE ${system_libraries}/lib @library@ text "${text}")
  string(REGEX REPLACE "@library@([^;\">]*)\\.so" "\\1" text "${text}")
  file(WRITE ${file} "${text}")
endforeach()
