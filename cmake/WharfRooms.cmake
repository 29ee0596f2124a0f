# A room is one directory, one static library and one set of declared dependencies. A room that is not declared as a
# dependency is not on the link line, so an include that breaks the plan of docs/architecture.md does not link.
#
#   wharf_room(link SOURCES channel.cc DEPS wharf::base OpenSSL::SSL [HEADERS channel.h])
#   wharf_test(link SOURCES channel_test.cc [DEPS extra] [OPTIMISED])  -> ctest "link.channel_test"
#   wharf_benchmark(link SOURCES channel_benchmark.cc [DEPS extra])
include_guard(GLOBAL)

if(WHARF_TESTS)
  find_package(GTest REQUIRED)
  find_package(benchmark REQUIRED)
  find_path(RAPIDCHECK_INCLUDE rapidcheck.h REQUIRED)
  find_library(RAPIDCHECK_LIBRARY rapidcheck REQUIRED)
endif()

# The folder wharf/split/runtime is the room split_runtime.
function(wharf_room name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;PRIVATE_DEPS" ${ARGN})
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR}/wharf ${CMAKE_CURRENT_SOURCE_DIR})
  string(REPLACE "/" "_" folder_name ${folder})
  if(NOT name STREQUAL folder_name)
    message(FATAL_ERROR "The room in wharf/${folder} is called ${folder_name}, not ${name}.")
  endif()
  add_library(wharf_${name} STATIC ${ARG_SOURCES})
  add_library(wharf::${name} ALIAS wharf_${name})
  set_target_properties(wharf_${name} PROPERTIES EXPORT_NAME ${name})
  if(NOT name MATCHES "^cli_")  # what programs link, see WharfExport.cmake
    set_property(GLOBAL APPEND PROPERTY WHARF_EXPORTED wharf_${name})
  endif()
  target_include_directories(wharf_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_compile_features(wharf_${name} PUBLIC cxx_std_20)  # for programs that link it
  target_link_libraries(wharf_${name} PUBLIC ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS})
  # Several sources are compiled as one: what they include takes longer than they do. So names in a room differ, those in
  # anonymous namespaces too.
  if(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
    set_target_properties(wharf_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    # Every source is "included" then, and what is local to one looks as if it were in a header.
    target_compile_options(wharf_${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
  wharf_precompile(${name})
  if(name MATCHES "^cli_")
    wharf_compile_quickly(wharf_${name})
  endif()
  wharf_check_headers(${name})
endfunction()

# ccache knows precompiled headers by -fpch-preprocess.
function(wharf_know_precompiled target)
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
endfunction()

# What nearly every source includes is compiled once: a second less for each. A room whose options are others does without.
set(CMAKE_PCH_WARN_INVALID OFF)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/precompiled.cc CONTENT "// Nothing: its headers count.\n")
add_library(wharf_common_headers STATIC ${CMAKE_BINARY_DIR}/precompiled.cc)
target_include_directories(wharf_common_headers PRIVATE ${PROJECT_SOURCE_DIR})
set(common_libraries absl::status absl::statusor absl::synchronization absl::time fmt::fmt)
set(common_headers <algorithm> <functional> <map> <memory> <optional> <span> <string> <vector>
  "${PROJECT_SOURCE_DIR}/wharf/base/clock.h" "${PROJECT_SOURCE_DIR}/wharf/base/mutex.h"
  "${PROJECT_SOURCE_DIR}/wharf/base/status.h")
target_link_libraries(wharf_common_headers PRIVATE ${common_libraries})
target_precompile_headers(wharf_common_headers PRIVATE ${common_headers})
wharf_know_precompiled(wharf_common_headers)
function(wharf_precompile name)
  target_precompile_headers(wharf_${name} REUSE_FROM wharf_common_headers)
  wharf_know_precompiled(wharf_${name})
endfunction()

# Every header compiles on its own: one generated translation unit a header, built with the room's own dependencies and
# nothing precompiled, by `make lint` only.
add_custom_target(lint_headers)
function(wharf_check_headers name)
  if(NOT WHARF_TESTS OR WHARF_SANITIZE)
    return()
  endif()
  file(GLOB headers RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS *.h)
  file(RELATIVE_PATH here ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  set(units)
  foreach(header ${headers})
    set(unit ${CMAKE_CURRENT_BINARY_DIR}/self_contained/${header}.cc)
    file(CONFIGURE OUTPUT ${unit} CONTENT "#include \"${here}/${header}\"\n#include \"${here}/${header}\"  // and twice\n")
    list(APPEND units ${unit})
  endforeach()
  if(units)
    add_library(wharf_${name}_headers OBJECT EXCLUDE_FROM_ALL ${units})
    target_include_directories(wharf_${name}_headers PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(wharf_${name}_headers PRIVATE wharf_${name})
    target_compile_options(wharf_${name}_headers PRIVATE -O0)
    target_compile_definitions(wharf_${name}_headers PRIVATE WHARF_TESTDATA="")  # as tests have it
    get_target_property(private wharf_${name} LINK_LIBRARIES)
    if(private)
      target_link_libraries(wharf_${name}_headers PRIVATE ${private})
    endif()
    add_dependencies(lint_headers wharf_${name}_headers)
  endif()
endfunction()

# wharf_compile_quickly(TARGET [-O0]): what is run briefly is compiled quickly: -O1 takes two thirds of the time of -O3, -O0
# half. Tests that compute much themselves, or have Eigen do it, are OPTIMISED and take -O1.
function(wharf_compile_quickly target)
  set(level -O1)
  if(ARGC GREATER 1)
    set(level ${ARGV1})
  endif()
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:${level}>)
  wharf_know_precompiled(${target})
endfunction()

# GoogleTest's headers and the common ones take half of the time of a test: compiled once, for every test.
if(WHARF_TESTS)
  add_executable(wharf_test_headers ${CMAKE_BINARY_DIR}/precompiled.cc)
  target_include_directories(wharf_test_headers PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(wharf_test_headers PRIVATE GTest::gmock GTest::gtest GTest::gtest_main ${common_libraries})
  target_precompile_headers(wharf_test_headers PRIVATE <gmock/gmock.h> <gtest/gtest.h> ${common_headers})
  wharf_compile_quickly(wharf_test_headers -O0)
endif()

# Tests are many, and each links LLVM or LibTorch as like as not.
find_program(WHARF_MOLD mold)
function(wharf_link_quickly target)
  if(WHARF_MOLD AND NOT WHARF_SANITIZE)
    target_link_options(${target} PRIVATE -fuse-ld=mold)
  endif()
endfunction()

function(wharf_test room)
  if(NOT WHARF_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "OPTIMISED" "TIMEOUT" "SOURCES;DEPS" ${ARGN})
  list(GET ARG_SOURCES 0 first)
  get_filename_component(stem ${first} NAME_WE)
  set(target ${room}_${stem})
  add_executable(${target} ${ARG_SOURCES})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_include_directories(${target} SYSTEM PRIVATE ${RAPIDCHECK_INCLUDE})
  target_link_libraries(${target} PRIVATE wharf::${room} ${ARG_DEPS} GTest::gmock GTest::gtest GTest::gtest_main
                                          ${RAPIDCHECK_LIBRARY})
  if(ARG_OPTIMISED)
    wharf_compile_quickly(${target})
  else()
    wharf_compile_quickly(${target} -O0)
    target_precompile_headers(${target} REUSE_FROM wharf_test_headers)
  endif()
  wharf_link_quickly(${target})
  add_test(NAME ${room}.${stem} COMMAND ${target})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  if(WHARF_SANITIZE)
    math(EXPR ARG_TIMEOUT "${ARG_TIMEOUT} * 4")
  endif()
  set_tests_properties(${room}.${stem} PROPERTIES TIMEOUT ${ARG_TIMEOUT}
    ENVIRONMENT "TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/cmake/tsan_suppressions.txt")
endfunction()

function(wharf_benchmark room)
  if(NOT WHARF_TESTS OR WHARF_SANITIZE)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  list(GET ARG_SOURCES 0 first)
  get_filename_component(stem ${first} NAME_WE)
  add_executable(${room}_${stem} ${ARG_SOURCES})
  target_include_directories(${room}_${stem} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${room}_${stem} PRIVATE wharf::${room} ${ARG_DEPS} benchmark::benchmark)
  wharf_link_quickly(${room}_${stem})
endfunction()
