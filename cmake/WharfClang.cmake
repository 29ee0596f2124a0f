# clang compiles the tests and the fuzz targets where there is one: without optimisation it takes half of the time that g++
# takes, and libFuzzer is its own. What they test is compiled by the default compiler; so are tests with sanitizers, which
# every part of a program must have of one compiler.
include_guard(GLOBAL)
find_program(WHARF_CLANGXX NAMES clang++-16 clang++)

set(WHARF_TESTS_BY_CLANG OFF)
if(CCACHE AND WHARF_CLANGXX AND CMAKE_CXX_COMPILER_ID STREQUAL GNU AND NOT WHARF_SANITIZE AND NOT CMAKE_CROSSCOMPILING
   AND NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
  set(WHARF_TESTS_BY_CLANG ON)  # ccache starts it in g++'s place
endif()

# wharf_clang_headers(TARGET FILE FLAGS flag... HEADERS header...): FILE includes these headers and FILE.pch is them,
# precompiled; who uses it depends on TARGET. Clang names them among what its users' objects depend on.
function(wharf_clang_headers target file)
  cmake_parse_arguments(ARG "" "" "FLAGS;HEADERS" ${ARGN})
  set(includes)
  foreach(header ${ARG_HEADERS})
    if(IS_ABSOLUTE "${header}")
      set(header "\"${header}\"")
    endif()
    string(APPEND includes "#include ${header}\n")
  endforeach()
  file(CONFIGURE OUTPUT ${file} CONTENT "${includes}" @ONLY)
  add_custom_command(
    OUTPUT ${file}.pch
    COMMAND ${WHARF_CLANGXX} ${ARG_FLAGS} -I${PROJECT_SOURCE_DIR} -x c++-header -fpch-instantiate-templates -Xclang
            -fno-pch-timestamp -MD -MF ${file}.d -MT ${file}.pch ${file} -o ${file}.pch
    DEPENDS ${file}
    DEPFILE ${file}.d
    COMMENT "clang ${target}"
    COMMAND_EXPAND_LISTS
    VERBATIM)
  add_custom_target(${target} DEPENDS ${file}.pch)
endfunction()

# wharf_compile_by_clang(TARGET)
function(wharf_compile_by_clang target)
  set_property(TARGET ${target} PROPERTY
               CXX_COMPILER_LAUNCHER env CCACHE_COMPILER=${WHARF_CLANGXX} ${CMAKE_CXX_COMPILER_LAUNCHER})
  # Its options are g++'s. Some instances of a template need no `this`; what kernels call has types that C does not have.
  target_compile_options(${target} PRIVATE -Wno-unused-command-line-argument -Wno-unknown-warning-option -Wno-unknown-attributes
    -Wno-unused-lambda-capture -Wno-return-type-c-linkage -Wno-deprecated-volatile -Wno-missing-braces)
endfunction()
