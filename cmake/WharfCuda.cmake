# The CUDA toolkit is optional: without it everything builds but the drop-in CUDA libraries (they need the vendor's headers)
# and the CUDA programs (they need nvcc). WHARF_CUDA_TOOLKIT says which; `wharf doctor` repeats it to the user.
include_guard(GLOBAL)
find_program(WHARF_NVCC nvcc HINTS /usr/local/cuda/bin)
# Headers are the same for every processor.
find_path(WHARF_CUDA_INCLUDE cuda_runtime_api.h HINTS /usr/local/cuda/include NO_CMAKE_FIND_ROOT_PATH)
if(WHARF_NVCC AND WHARF_CUDA_INCLUDE)
  set(WHARF_CUDA_TOOLKIT ON)
  get_filename_component(WHARF_CUDA_HOME ${WHARF_CUDA_INCLUDE} DIRECTORY)
else()
  set(WHARF_CUDA_TOOLKIT OFF)
  message(STATUS "No CUDA toolkit: the drop-in CUDA libraries, the CUDA examples and their tests are left out.")
endif()

# ON if a library that may be missing stands beside the toolkit; else it says what is left out.
function(wharf_find_cuda_library variable header library missing)
  set(${variable} OFF PARENT_SCOPE)
  if(NOT WHARF_CUDA_TOOLKIT)
    return()
  endif()
  if(EXISTS ${WHARF_CUDA_HOME}/include/${header} AND EXISTS ${WHARF_CUDA_HOME}/lib64/${library})
    set(${variable} ON PARENT_SCOPE)
  else()
    message(STATUS "${missing}")
  endif()
endfunction()
# cuDNN is no part of the toolkit, cuFFT, cuSOLVER, cuSPARSE and cuRAND are some that may be left out.
wharf_find_cuda_library(WHARF_CUDNN cudnn.h libcudnn.so.9
  "No cuDNN 9 beside the CUDA toolkit: its drop-in library and its tests are left out.")
wharf_find_cuda_library(WHARF_CUFFT cufftXt.h libcufft.so.12
  "No cuFFT beside the CUDA toolkit: its drop-in libraries and their tests are left out.")
wharf_find_cuda_library(WHARF_CUSOLVER cusolverDn.h libcusolver.so.12
  "No cuSOLVER beside the CUDA toolkit: its drop-in libraries and their tests are left out.")
wharf_find_cuda_library(WHARF_CUSPARSE cusparse.h libcusparse.so.12
  "No cuSPARSE beside the CUDA toolkit: its drop-in library and its tests are left out.")
wharf_find_cuda_library(WHARF_CURAND curand.h libcurand.so.10
  "No cuRAND beside the CUDA toolkit: its drop-in library and its tests are left out.")

# CUDA 12's headers, which tools/install_cuda12.sh fetches; "": tests that need them are left out.
set(WHARF_CUDA_12_HOME)
if(EXISTS ${PROJECT_SOURCE_DIR}/build/cuda12/include/cuda_runtime_api.h)
  set(WHARF_CUDA_12_HOME ${PROJECT_SOURCE_DIR}/build/cuda12)
endif()

# nvcc compiles the host's half for the processor of the compiler that it is given. NVIDIA's libraries are this machine's.
# Without fused operations, as on x86-64, hosts' references are the same everywhere.
set(WHARF_NVCC_TARGET)
if(CMAKE_CROSSCOMPILING)
  set(WHARF_NVCC_TARGET -ccbin ${CMAKE_CXX_COMPILER} -target-dir ${CMAKE_HOST_SYSTEM_PROCESSOR}-linux
      -Xcompiler --sysroot=${CMAKE_SYSROOT} -Xcompiler -ffp-contract=off)
endif()

# How well nvcc has g++ compile the hosts' halves, which take most of its time; kernels are the same.
set(WHARF_NVCC_HOST_LEVEL -O2)

# wharf_cuda_program(NAME SOURCES a.cu [FLAGS ...] [LIBS cublas] [CUDART static] [RELEASE 12])
#   -> ${CMAKE_BINARY_DIR}/cuda/NAME
# A plain CUDA program: compiled by nvcc with the vendor's defaults plus `-cudart shared`; it knows nothing of Wharf.
# RELEASE 12: against CUDA 12's headers, and linked against its libraries (ours, whose names are compared with NVIDIA's),
# so it needs them when it runs. For another processor it is linked against ours as well.
function(wharf_cuda_program name)
  cmake_parse_arguments(ARG "" "CUDART;RELEASE" "SOURCES;FLAGS;LIBS;DEPENDS" ${ARGN})
  if(NOT ARG_CUDART)
    set(ARG_CUDART shared)
  endif()
  set(output ${CMAKE_BINARY_DIR}/cuda/${name})
  set(ours)  # of api.def's libraries
  set(suffix)
  if(ARG_RELEASE)
    list(APPEND ARG_FLAGS -I${WHARF_CUDA_12_HOME}/include)
    set(ours cudart cublas cufft curand cusolver)
    set(suffix _${ARG_RELEASE})
  endif()
  if(CMAKE_CROSSCOMPILING)
    set(ours cudart cuda cublas cublasLt cudnn cufft curand cusolver cusparse)
  endif()
  if(ours)
    set(ARG_CUDART none)
    list(PREPEND ARG_LIBS cudart)
  endif()
  set(libs)
  set(targets)
  foreach(lib ${ARG_LIBS})
    if(lib IN_LIST ours)
      get_property(target GLOBAL PROPERTY WHARF_DROPIN_${lib}${suffix})
      if(NOT target)  # the driver has no release in its name
        get_property(target GLOBAL PROPERTY WHARF_DROPIN_${lib})
      endif()
      list(APPEND libs -Xlinker $<TARGET_FILE:${target}>)
      list(APPEND targets ${target})
    else()
      list(APPEND libs -l${lib})
    endif()
  endforeach()
  if(ARG_CUDART STREQUAL none)
    list(APPEND libs -lpthread -ldl)  # which nvcc links with its runtime; glibc before 2.34 has them apart
  endif()
  set(objects)
  foreach(source ${ARG_SOURCES})
    get_filename_component(stem ${source} NAME)
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.dir/${stem}.o)
    add_custom_command(
      OUTPUT ${object}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/${name}.dir
      COMMAND ${WHARF_NVCC} ${WHARF_NVCC_TARGET} -std=c++17 ${WHARF_NVCC_HOST_LEVEL} -cudart ${ARG_CUDART} ${ARG_FLAGS} -I${PROJECT_SOURCE_DIR} -MD -MF ${object}.d -c
              ${CMAKE_CURRENT_SOURCE_DIR}/${source} -o ${object}
      DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${source} ${ARG_DEPENDS}
      DEPFILE ${object}.d
      COMMENT "nvcc ${source}"
      VERBATIM)
    list(APPEND objects ${object})
  endforeach()
  if(ours AND "-rdc=true" IN_LIST ARG_FLAGS)  # device code in parts, which nvcc joins by itself if it links its runtime
    set(joined ${CMAKE_CURRENT_BINARY_DIR}/${name}.dir/joined.o)
    add_custom_command(
      OUTPUT ${joined}
      COMMAND ${WHARF_NVCC} ${WHARF_NVCC_TARGET} -dlink -w ${objects} -o ${joined}
      DEPENDS ${objects}
      COMMENT "nvcc -dlink ${name}"
      VERBATIM)
    list(APPEND objects ${joined})
    if(CMAKE_SYSTEM_PROCESSOR STREQUAL CMAKE_HOST_SYSTEM_PROCESSOR)
      list(APPEND libs -lcudadevrt)  # of kernels that launch others; NVIDIA's is here for this machine's processor
    endif()
  endif()
  set_property(GLOBAL PROPERTY WHARF_CUDA_OBJECTS_${name} ${objects})  # to link them in another way
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/cuda
    COMMAND ${WHARF_NVCC} ${WHARF_NVCC_TARGET} -cudart ${ARG_CUDART} ${objects} -o ${output} ${libs}
    DEPENDS ${objects} ${targets} ${ARG_DEPENDS}
    COMMENT "nvcc link ${name}"
    VERBATIM)
  add_custom_target(cuda_${name} ALL DEPENDS ${output})
endfunction()
