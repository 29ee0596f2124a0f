# wharf_fuzz(NAME SOURCES target.cc parser.cc ... [LIBS -lfoo ...] [INCLUDES dir ...] [SEEDS dir] [SECONDS n])
# A libFuzzer target. libFuzzer is clang's, the rest of the build is the default compiler's, so a target lists the few
# sources it needs and is compiled apart with clang, ASan and UBSan; ctest runs it briefly as "fuzz.NAME". What it finds
# is kept in ${CMAKE_BINARY_DIR}/fuzz/NAME.corpus; run ${CMAKE_BINARY_DIR}/fuzz/NAME on it for as long as you like.
# Sources are relative to the current directory or to wharf/ in the project ("wharf/base/status.cc"). status.cc and
# what it needs to link are always added.
include_guard(GLOBAL)
set(WHARF_FUZZ_FLAGS -std=c++20 -O1 -gline-tables-only -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all)

# What nearly every source includes, precompiled, once.
set(WHARF_FUZZ_COMMON ${CMAKE_BINARY_DIR}/fuzz/common.h)
if(WHARF_TESTS AND NOT WHARF_SANITIZE AND WHARF_CLANGXX)
  wharf_clang_headers(fuzz_common ${WHARF_FUZZ_COMMON} FLAGS ${WHARF_FUZZ_FLAGS} HEADERS ${common_headers})  # of WharfRooms.cmake
endif()

# Compiles one source for every fuzz target that has it with these includes; its object goes to `out`.
function(wharf_fuzz_object source includes out)
  file(RELATIVE_PATH stem ${PROJECT_SOURCE_DIR} ${source})
  string(REPLACE "/" "_" stem ${stem})
  string(MD5 apart "${includes}")
  set(object ${CMAKE_BINARY_DIR}/fuzz/objects/${apart}/${stem}.o)
  set(${out} ${object} PARENT_SCOPE)
  get_property(known GLOBAL PROPERTY WHARF_FUZZ_OBJECTS)
  if(object IN_LIST known)
    return()
  endif()
  set_property(GLOBAL APPEND PROPERTY WHARF_FUZZ_OBJECTS ${object})
  list(TRANSFORM includes PREPEND -isystem)
  add_custom_command(
    OUTPUT ${object}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/fuzz/objects/${apart}
    COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} ${WHARF_CLANGXX} ${WHARF_FUZZ_FLAGS} -I${PROJECT_SOURCE_DIR} ${includes}
            -include-pch ${WHARF_FUZZ_COMMON}.pch -Xclang -fno-pch-timestamp -MD -MF ${object}.d -c ${source} -o ${object}
    DEPENDS ${source} ${WHARF_FUZZ_COMMON}.pch fuzz_common
    DEPFILE ${object}.d
    COMMENT "fuzz ${stem}"
    VERBATIM)
endfunction()

function(wharf_fuzz name)
  if(NOT WHARF_TESTS OR WHARF_SANITIZE OR CMAKE_CROSSCOMPILING)  # they bring sanitizers of their own to every build
    return()
  endif()
  if(NOT WHARF_CLANGXX)
    message(STATUS "No clang++: the fuzz target ${name} is left out.")
    return()
  endif()
  cmake_parse_arguments(ARG "" "SEEDS;SECONDS" "SOURCES;LIBS;INCLUDES" ${ARGN})
  if(NOT ARG_SECONDS)
    set(ARG_SECONDS 3)
  endif()
  set(output ${CMAKE_BINARY_DIR}/fuzz/${name})
  set(objects)
  foreach(source ${ARG_SOURCES} wharf/base/status.cc)
    if(NOT IS_ABSOLUTE ${source} AND source MATCHES "^wharf/")
      set(source ${PROJECT_SOURCE_DIR}/${source})
    elseif(NOT IS_ABSOLUTE ${source})
      set(source ${CMAKE_CURRENT_SOURCE_DIR}/${source})
    endif()
    wharf_fuzz_object(${source} "${ARG_INCLUDES}" object)
    list(APPEND objects ${object})
  endforeach()
  list(REMOVE_DUPLICATES objects)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${WHARF_CLANGXX} ${WHARF_FUZZ_FLAGS} ${objects} -o ${output} ${ARG_LIBS} -Wl,--copy-dt-needed-entries
            -labsl_statusor -labsl_status -labsl_cord -lfmt
    COMMAND ${CMAKE_COMMAND} -E make_directory ${output}.corpus
    DEPENDS ${objects}
    COMMENT "fuzz target ${name}"
    VERBATIM)
  add_custom_target(fuzz_${name} ALL DEPENDS ${output})
  set(seeds)
  if(ARG_SEEDS)
    set(seeds ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_SEEDS})
  endif()
  # Leaks are looked for by the other tests; LeakSanitizer does not work where ptrace is forbidden.
  add_test(NAME fuzz.${name} COMMAND ${output} -max_total_time=${ARG_SECONDS} -timeout=10 -rss_limit_mb=2048
                                     -detect_leaks=0 -print_final_stats=1 -artifact_prefix=${output}.
                                     ${output}.corpus ${seeds})
  set_tests_properties(fuzz.${name} PROPERTIES TIMEOUT 180)
endfunction()
