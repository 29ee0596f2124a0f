# Run by cpack between installing and packing, in a folder for each component: what only packages have, and what Debian
# asks of them. Everything here is about the files of packages; `cmake --install` does without.
cmake_policy(VERSION 3.25)
set(strip ${CPACK_WHARF_STRIP})
find_program(gzip gzip REQUIRED)

# Which packages a program's libraries are of, dpkg-shlibdeps asks this machine's dpkg, or what was unpacked for another
# processor (tools/arm64_sysroot.sh).
set(ENV{DPKG_ADMINDIR} ${CPACK_WHARF_SYSROOT}/var/lib/dpkg)
if(CPACK_DEBIAN_PACKAGE_ARCHITECTURE)
  set(ENV{DEB_HOST_ARCH} ${CPACK_DEBIAN_PACKAGE_ARCHITECTURE})
endif()

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

foreach(component ${CPACK_COMPONENTS_ALL})
  string(TOUPPER ${component} name)
  set(package ${CPACK_DEBIAN_${name}_PACKAGE_NAME})
  set(root ${CPACK_TEMPORARY_DIRECTORY}/${component})
  if(NOT EXISTS ${root})
    message(FATAL_ERROR "nothing is installed of ${component}, in ${root}")
  endif()

  # Programs and libraries without symbols of which nobody has a use; archives keep those that linkers need.
  file(GLOB_RECURSE files ${root}/*)
  foreach(file ${files})
    if(IS_SYMLINK ${file})
      continue()
    endif()
    file(READ ${file} magic LIMIT 7 HEX)
    if(magic MATCHES "^7f454c46" AND file MATCHES "\\.so")
      run(${strip} --strip-unneeded --remove-section=.comment ${file})
      file(CHMOD ${file} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
    elseif(magic MATCHES "^7f454c46" AND NOT file MATCHES "\\.o$")
      run(${strip} --remove-section=.comment ${file})
    elseif(magic STREQUAL "213c617263683e")
      run(${strip} --strip-debug --enable-deterministic-archives ${file})
    endif()
  endforeach()

  file(GLOB pages ${root}/usr/share/man/man1/*.1)
  foreach(page ${pages})
    run(${gzip} -9n ${page})
  endforeach()

  set(doc ${root}/usr/share/doc/${package})
  file(MAKE_DIRECTORY ${doc})
  file(COPY_FILE ${CMAKE_CURRENT_LIST_DIR}/copyright ${doc}/copyright)
  file(WRITE ${doc}/changelog.Debian
       "wharf (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium\n\n"
       "  * What is in it: the history of Wharf's source.\n\n"
       " -- ${CPACK_PACKAGE_CONTACT}  Thu, 01 Jan 2026 00:00:00 +0000\n")
  run(${gzip} -9n ${doc}/changelog.Debian)

  # What lintian would warn of, and is meant.
  set(overrides ${CMAKE_CURRENT_LIST_DIR}/${package}/lintian-overrides)
  if(EXISTS ${overrides})
    file(MAKE_DIRECTORY ${root}/usr/share/lintian/overrides)
    file(COPY_FILE ${overrides} ${root}/usr/share/lintian/overrides/${package})
  endif()
endforeach()
