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

# cuDNN is no part of the toolkit: without it its drop-in library and its tests are left out.
set(WHARF_CUDNN OFF)
if(WHARF_CUDA_TOOLKIT)
  if(EXISTS ${WHARF_CUDA_HOME}/include/cudnn.h AND EXISTS ${WHARF_CUDA_HOME}/lib64/libcudnn.so.9)
    set(WHARF_CUDNN ON)
  else()
    message(STATUS "No cuDNN 9 beside the CUDA toolkit: its drop-in library and its tests are left out.")
  endif()
endif()

# CUDA 12's headers, which tools/install_cuda12.sh fetches; "": tests that need them are left out.
set(WHARF_CUDA_12_HOME)
if(EXISTS ${PROJECT_SOURCE_DIR}/build/cuda12/include/cuda_runtime_api.h)
  set(WHARF_CUDA_12_HOME ${PROJECT_SOURCE_DIR}/build/cuda12)
endif()

# wharf_cuda_program(NAME SOURCES a.cu [FLAGS ...] [LIBS cublas] [CUDART static] [RELEASE 12])
#   -> ${CMAKE_BINARY_DIR}/cuda/NAME
# A plain CUDA program: compiled by nvcc with the vendor's defaults plus `-cudart shared`; it knows nothing of Wharf.
# RELEASE 12: against CUDA 12's headers, and linked against its libraries (ours, whose names are compared with NVIDIA's),
# so it needs them when it runs.
function(wharf_cuda_program name)
  cmake_parse_arguments(ARG "" "CUDART;RELEASE" "SOURCES;FLAGS;LIBS;DEPENDS" ${ARGN})
  if(NOT ARG_CUDART)
    set(ARG_CUDART shared)
  endif()
  set(output ${CMAKE_BINARY_DIR}/cuda/${name})
  set(libs)
  if(ARG_RELEASE)
    set(ARG_CUDART none)
    list(APPEND ARG_FLAGS -I${WHARF_CUDA_12_HOME}/include)
    set(libs ${CMAKE_BINARY_DIR}/lib/wharf/libcudart.so.12)
    list(APPEND ARG_DEPENDS wharf_cudart_12)
  endif()
  foreach(lib ${ARG_LIBS})
    if(ARG_RELEASE AND lib STREQUAL cublas)
      list(APPEND libs ${CMAKE_BINARY_DIR}/lib/wharf/libcublas.so.12)
      list(APPEND ARG_DEPENDS wharf_cublas_12)
    else()
      list(APPEND libs -l${lib})
    endif()
  endforeach()
  if(ARG_RELEASE)
    list(TRANSFORM libs REPLACE "^(/.*)$" "-Xlinker;\\1")
  endif()
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
    DEPENDS ${objects} ${ARG_DEPENDS}
    COMMENT "nvcc link ${name}"
    VERBATIM)
  add_custom_target(cuda_${name} ALL DEPENDS ${output})
endfunction()
