# What programs outside of this tree link: find_package(Wharf COMPONENTS Split) and `pkg-config wharf-split`. A
# component is some rooms, all that these need, and the headers for programs with what they include. What is in one is
# not in those behind it, which need it. -DWharf_DIR=build/default finds the same in the build tree.
set(components Client Split Ar)
set(Client_for "connections to Wharf's servers")
set(Client_rooms wire)
set(Client_headers wharf/base/read_file.h wharf/link/channel.h wharf/wire/handshake.h)
set(Split_for "models that device and server compute together")
set(Split_rooms split_runtime)
set(Split_headers wharf/split/codec/image_file.h wharf/split/runtime/edge_model.h)
set(Ar_for "clients of AR servers")
set(Ar_rooms ar_client_kit ar_model_task scene_source)
set(Ar_headers wharf/ar/client/client.h wharf/ar/client/coordinated_client.h wharf/ar/client_kit/client_kit.h
  wharf/ar/model_task/calibrate.h wharf/ar/model_task/model_task.h wharf/scene/source/source.h)
set(archives lib/wharf/static)

# Where the system has its libraries, and where linkers look anyway: there they are named as everywhere.
set(system_libraries ${CMAKE_SYSROOT}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE})

# Appends what `target` is linked with and was not visited before: ours to WHARF_ROOMS, each behind those that it needs,
# and others' libraries to WHARF_OUTSIDE.
function(wharf_visit target)
  if(TARGET ${target})
    get_target_property(alias ${target} ALIASED_TARGET)
    if(alias)
      set(target ${alias})
    endif()
  endif()
  get_property(visited GLOBAL PROPERTY WHARF_VISITED)
  if(target IN_LIST visited OR target MATCHES "^::@")  # the latter is CMake's own: which folder said so
    return()
  endif()
  set_property(GLOBAL APPEND PROPERTY WHARF_VISITED ${target})
  if(NOT TARGET ${target} OR NOT target MATCHES "^wharf_")
    set_property(GLOBAL APPEND PROPERTY WHARF_OUTSIDE ${target})
    return()
  endif()
  set(dependencies LINK_LIBRARIES)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL INTERFACE_LIBRARY)
    set(dependencies INTERFACE_LINK_LIBRARIES)
  endif()
  get_target_property(dependencies ${target} ${dependencies})
  foreach(dependency ${dependencies})
    if(NOT dependency STREQUAL "dependencies-NOTFOUND")
      wharf_visit(${dependency})
    endif()
  endforeach()
  set_property(GLOBAL APPEND PROPERTY WHARF_ROOMS ${target})
endfunction()

# Writes wharf-COMPONENT.pc. `before`: the component before it, if any.
function(wharf_pkg_config component before rooms outside)
  set(names fmt::fmt=fmt OpenSSL::SSL=libssl OpenSSL::Crypto=libcrypto PNG::PNG=libpng ZLIB::ZLIB=zlib
    Eigen3::Eigen=eigen3 nlohmann_json::nlohmann_json=nlohmann_json)
  set(requires)
  set(libraries "-L\${archives}")
  list(REVERSE rooms)  # whoever needs another stands before it
  foreach(room ${rooms})
    get_target_property(type ${room} TYPE)
    if(type STREQUAL STATIC_LIBRARY)
      list(APPEND libraries -l${room})
    endif()
  endforeach()
  foreach(library ${outside})
    set(known ${names})
    list(FILTER known INCLUDE REGEX "^${library}=")
    if(library MATCHES "^absl::(.*)")
      list(APPEND requires absl_${CMAKE_MATCH_1})
    elseif(known)
      string(REGEX REPLACE ".*=" "" known "${known}")
      list(APPEND requires ${known})
    elseif(library STREQUAL Threads::Threads)
      list(APPEND libraries -pthread)
    elseif(library MATCHES "^opencv::(.*)")
      list(APPEND libraries -lopencv_${CMAKE_MATCH_1})
    elseif(library MATCHES "^[a-z]+$")
      list(APPEND libraries -l${library})
    elseif(library MATCHES "^${system_libraries}/lib([^/]*)\\.so$")
      list(APPEND libraries -l${CMAKE_MATCH_1})  # the same on every architecture
    elseif(IS_ABSOLUTE "${library}" OR library MATCHES "^-")
      list(APPEND libraries ${library})
    else()
      message(FATAL_ERROR "What does pkg-config call ${library}?")
    endif()
  endforeach()
  if(before)
    string(TOLOWER wharf-${before} before)
    list(PREPEND requires "${before} = ${PROJECT_VERSION}")
  endif()
  list(JOIN requires ", " requires)
  list(JOIN libraries " " libraries)
  string(TOLOWER wharf-${component} name)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/packaging/${name}.pc @ONLY CONTENT [[
prefix=${pcfiledir}/../..
archives=${prefix}/@archives@

Name: @name@
Description: Wharf: @for@, for C++20
Version: @PROJECT_VERSION@
Requires: @requires@
Libs: @libraries@
Cflags: -I${prefix}/include
]])
  install(FILES ${CMAKE_BINARY_DIR}/packaging/${name}.pc DESTINATION lib/pkgconfig COMPONENT dev)
endfunction()

set(packages)
set(headers)
set(before)
foreach(component ${components})
  set_property(GLOBAL PROPERTY WHARF_ROOMS "")
  set_property(GLOBAL PROPERTY WHARF_OUTSIDE "")
  foreach(room ${${component}_rooms})
    wharf_visit(wharf_${room})
  endforeach()
  get_property(rooms GLOBAL PROPERTY WHARF_ROOMS)
  get_property(outside GLOBAL PROPERTY WHARF_OUTSIDE)
  install(TARGETS ${rooms} EXPORT Wharf${component} COMPONENT dev
    ARCHIVE DESTINATION ${archives} OBJECTS DESTINATION ${archives})
  install(EXPORT Wharf${component} NAMESPACE wharf:: FILE Wharf${component}Targets.cmake DESTINATION lib/cmake/Wharf
    COMPONENT dev)
  export(EXPORT Wharf${component} NAMESPACE wharf:: FILE ${CMAKE_BINARY_DIR}/Wharf${component}Targets.cmake)
  set(for ${${component}_for})
  wharf_pkg_config(${component} "${before}" "${rooms}" "${outside}")
  # The package of OpenSSL::SSL is OpenSSL.
  list(FILTER outside INCLUDE REGEX "::")
  list(TRANSFORM outside REPLACE "::.*" "")
  list(REMOVE_DUPLICATES outside)
  string(APPEND packages "set(wharf_${component}_packages ${outside})\n")
  list(APPEND headers ${${component}_headers})
  set(before ${component})
endforeach()
string(REPLACE ";" " " packages "${packages}")
string(REPLACE ";" " " components "${components}")

include(CMakePackageConfigHelpers)
configure_file(${CMAKE_CURRENT_LIST_DIR}/WharfConfig.cmake.in ${CMAKE_BINARY_DIR}/WharfConfig.cmake @ONLY)
configure_file(${CMAKE_CURRENT_LIST_DIR}/WharfOpenCv.cmake ${CMAKE_BINARY_DIR}/WharfOpenCv.cmake COPYONLY)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/WharfConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/WharfConfig.cmake ${CMAKE_BINARY_DIR}/WharfConfigVersion.cmake
  ${CMAKE_BINARY_DIR}/WharfOpenCv.cmake DESTINATION lib/cmake/Wharf COMPONENT dev)
install(CODE "set(system_libraries ${system_libraries})" COMPONENT dev)
install(SCRIPT ${CMAKE_CURRENT_LIST_DIR}/InstallTargets.cmake COMPONENT dev)
install(CODE "set(headers ${headers})\nset(source ${PROJECT_SOURCE_DIR})" COMPONENT dev)
install(SCRIPT ${CMAKE_CURRENT_LIST_DIR}/InstallHeaders.cmake COMPONENT dev)
