# wharf_fuzz(NAME SOURCES target.cc parser.cc ... [LIBS ...] [SEEDS dir] [SECONDS n])
# A libFuzzer target. libFuzzer is clang's, the rest of the build is the default compiler's, so a target lists the few
# sources it needs and is compiled apart with clang, ASan and UBSan; ctest runs it briefly as "fuzz.NAME".
include_guard(GLOBAL)
find_program(WHARF_CLANGXX NAMES clang++-16 clang++)

function(wharf_fuzz name)
  if(NOT WHARF_TESTS)
    return()
  endif()
  if(NOT WHARF_CLANGXX)
    message(STATUS "No clang++: the fuzz targets are left out.")
    return()
  endif()
  cmake_parse_arguments(ARG "" "SEEDS;SECONDS" "SOURCES;LIBS" ${ARGN})
  if(NOT ARG_SECONDS)
    set(ARG_SECONDS 20)
  endif()
  set(output ${CMAKE_BINARY_DIR}/fuzz/${name})
  set(sources)
  foreach(source ${ARG_SOURCES})
    if(IS_ABSOLUTE ${source})
      list(APPEND sources ${source})
    else()
      list(APPEND sources ${CMAKE_CURRENT_SOURCE_DIR}/${source})
    endif()
  endforeach()
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/fuzz/${name}.corpus
    COMMAND ${WHARF_CLANGXX} -std=c++20 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
            -I${PROJECT_SOURCE_DIR} ${sources} -o ${output} ${ARG_LIBS}
    DEPENDS ${sources}
    COMMENT "fuzz target ${name}"
    VERBATIM)
  add_custom_target(fuzz_${name} ALL DEPENDS ${output})
  set(seeds)
  if(ARG_SEEDS)
    set(seeds ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_SEEDS})
  endif()
  add_test(NAME fuzz.${name} COMMAND ${output} -max_total_time=${ARG_SECONDS} -timeout=10 -rss_limit_mb=2048
                                     -print_final_stats=1 ${CMAKE_BINARY_DIR}/fuzz/${name}.corpus ${seeds})
  set_tests_properties(fuzz.${name} PROPERTIES TIMEOUT 180)
endfunction()
