# The CUDA toolkit is optional: without it everything builds but the drop-in CUDA libraries (they need the vendor's headers)
# and the CUDA programs (they need nvcc). WHARF_CUDA_TOOLKIT says which; `wharf doctor` repeats it to the user.
include_guard(GLOBAL)
find_program(WHARF_NVCC nvcc HINTS /usr/local/cuda/bin)
find_path(WHARF_CUDA_INCLUDE cuda_runtime_api.h HINTS /usr/local/cuda/include)
if(WHARF_NVCC AND WHARF_CUDA_INCLUDE)
  set(WHARF_CUDA_TOOLKIT ON)
  get_filename_component(WHARF_CUDA_HOME ${WHARF_CUDA_INCLUDE} DIRECTORY)
else()
  set(WHARF_CUDA_TOOLKIT OFF)
  message(STATUS "No CUDA toolkit: the drop-in CUDA libraries, the CUDA examples and their tests are left out.")
endif()

# wharf_cuda_program(NAME SOURCES a.cu [FLAGS ...] [LIBS cublas] [CUDART static]) -> ${CMAKE_BINARY_DIR}/cuda/NAME
# A plain CUDA program: compiled by nvcc with the vendor's defaults plus `-cudart shared`; it knows nothing of Wharf.
function(wharf_cuda_program name)
  cmake_parse_arguments(ARG "" "CUDART" "SOURCES;FLAGS;LIBS;DEPENDS" ${ARGN})
  if(NOT ARG_CUDART)
    set(ARG_CUDART shared)
  endif()
  set(output ${CMAKE_BINARY_DIR}/cuda/${name})
  set(libs)
  foreach(lib ${ARG_LIBS})
    list(APPEND libs -l${lib})
  endforeach()
  set(objects)
  foreach(source ${ARG_SOURCES})
    get_filename_component(stem ${source} NAME)
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.dir/${stem}.o)
    add_custom_command(
      OUTPUT ${object}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/${name}.dir
      COMMAND ${WHARF_NVCC} -std=c++17 -O2 -cudart ${ARG_CUDART} ${ARG_FLAGS} -I${PROJECT_SOURCE_DIR} -MD -MF ${object}.d -c
              ${CMAKE_CURRENT_SOURCE_DIR}/${source} -o ${object}
      DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${source} ${ARG_DEPENDS}
      DEPFILE ${object}.d
      COMMENT "nvcc ${source}"
      VERBATIM)
    list(APPEND objects ${object})
  endforeach()
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/cuda
    COMMAND ${WHARF_NVCC} -cudart ${ARG_CUDART} ${objects} -o ${output} ${libs}
    DEPENDS ${objects}
    COMMENT "nvcc link ${name}"
    VERBATIM)
  add_custom_target(cuda_${name} ALL DEPENDS ${output})
endfunction()
