# Language level, warnings and sanitizers: the same for every target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  # What is precompiled is cached only if it may not be looked into: it has neither __TIME__ nor macros of its users. What a
  # source includes is taken from the list that the compiler writes for ninja: a source that is not cached is not
  # preprocessed for it once more, which saves a twentieth.
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=true ${CCACHE})
endif()

# g++ collects its garbage only once there is a gigabyte of it, which few sources make: large ones
# take 12 to 23 % less of a processor's time.
add_compile_options("$<$<COMPILE_LANG_AND_ID:CXX,GNU>:SHELL:--param ggc-min-heapsize=1048576>")
add_compile_options(-Wall -Wextra -Wno-missing-field-initializers)
if(WHARF_WERROR)
  add_compile_options(-Werror)
endif()
if(CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64)
  add_compile_options(-ffp-contract=off)  # as on x86-64, whose first processors multiply and add in two steps: the same results
endif()
if(WHARF_SANITIZE)
  add_compile_options(-fsanitize=${WHARF_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_compile_options(-fno-sanitize=enum)  # CUDA programs pass any number for an enum; the drop-in libraries refuse it
  add_compile_options(-Wno-maybe-uninitialized)  # g++ 12 sees it in instrumented std::regex (its bug 105562)
  add_link_options(-fsanitize=${WHARF_SANITIZE})
  # A program that is not instrumented and loads libraries that are must load the sanitizer first of all. Its path is
  # for the tests that run CUDA programs.
  string(REGEX MATCH "address|thread" sanitizer "${WHARF_SANITIZE}")
  string(SUBSTRING ${sanitizer} 0 1 initial)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=lib${initial}san.so
                  OUTPUT_VARIABLE WHARF_SANITIZER_RUNTIME OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
endif()

find_package(Threads REQUIRED)
find_package(absl REQUIRED)
find_package(fmt REQUIRED)

# ThreadSanitizer must be told what Debian's uninstrumented absl::Mutex orders; the file says how.
if(WHARF_SANITIZE STREQUAL "thread")
  set(tsan_source ${CMAKE_CURRENT_LIST_DIR}/tsan_absl_mutex.cc)
  add_library(wharf_tsan_absl OBJECT ${tsan_source})
  target_include_directories(wharf_tsan_absl PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(wharf_tsan_absl PUBLIC absl::synchronization)  # for programs that use no Abseil themselves
  file(STRINGS ${tsan_source} tsan_lines REGEX "^WHARF_[A-Z_]+\\(.*_ZN")
  foreach(line ${tsan_lines})
    string(REGEX MATCH "_ZNK?4absl[A-Za-z0-9_]+" symbol "${line}")
    target_link_options(wharf_tsan_absl INTERFACE -Wl,--wrap=${symbol})
  endforeach()
  link_libraries(wharf_tsan_absl)
endif()
