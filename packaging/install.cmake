# Run by `cmake --install`: what depends on the prefix. `source`, `binary` and `sysconfdir` are set.
cmake_policy(VERSION 3.25)
set(bindir ${CMAKE_INSTALL_PREFIX}/bin)
if(CMAKE_INSTALL_PREFIX STREQUAL /usr)  # as the distribution has it
  cmake_path(ABSOLUTE_PATH sysconfdir BASE_DIRECTORY /)
endif()
cmake_path(ABSOLUTE_PATH sysconfdir BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX})

foreach(unit wharf-serve.service wharf-serve.socket)
  configure_file(${source}/${unit} ${binary}/${unit} @ONLY)
  file(INSTALL ${binary}/${unit} DESTINATION ${CMAKE_INSTALL_PREFIX}/lib/systemd/system)
endforeach()
file(INSTALL ${source}/wharf.sysusers DESTINATION ${CMAKE_INSTALL_PREFIX}/lib/sysusers.d RENAME wharf.conf)

# What an administrator has written stays.
if(EXISTS $ENV{DESTDIR}${sysconfdir}/wharf/serve.toml)
  message(STATUS "Kept: $ENV{DESTDIR}${sysconfdir}/wharf/serve.toml")
else()
  file(INSTALL ${source}/serve.toml DESTINATION ${sysconfdir}/wharf)
endif()
file(MAKE_DIRECTORY $ENV{DESTDIR}${sysconfdir}/wharf/secrets)
file(CHMOD $ENV{DESTDIR}${sysconfdir}/wharf/secrets PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
