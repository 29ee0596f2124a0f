# LibTorch as the target wharf_torch: Debian's, which has no CUDA, or what -DWHARF_LIBTORCH=DIR names, the folder `torch`
# of an installed PyTorch wheel (include/, lib/). WHARF_TORCH_CUDA says whether that one has CUDA; docs/split.md, "On a
# GPU", how to get one.
include_guard(GLOBAL)
set(WHARF_LIBTORCH "" CACHE PATH "Folder `torch` of an installed PyTorch wheel; empty: Debian's LibTorch")

add_library(wharf_torch INTERFACE)
set(WHARF_TORCH_CUDA OFF)
if(NOT WHARF_LIBTORCH)
  find_library(WHARF_TORCH_CPU torch_cpu REQUIRED)
  find_library(WHARF_C10 c10 REQUIRED)
  target_link_libraries(wharf_torch INTERFACE ${WHARF_TORCH_CPU} ${WHARF_C10})
  return()
endif()

foreach(file include/ATen/ATen.h lib/libtorch_cpu.so lib/libc10.so)
  if(NOT EXISTS ${WHARF_LIBTORCH}/${file})
    message(FATAL_ERROR "WHARF_LIBTORCH=${WHARF_LIBTORCH} has no ${file}: name the folder `torch` of an installed wheel "
                        "(python3 -c 'import torch; print(torch.__path__[0])')")
  endif()
endforeach()
# Only what is LibTorch's, before the system's directories, which may have Debian's: the wheel has a fmt of its own, too.
set(headers ${CMAKE_BINARY_DIR}/libtorch)
file(MAKE_DIRECTORY ${headers})
foreach(directory ATen c10 torch)
  file(CREATE_LINK ${WHARF_LIBTORCH}/include/${directory} ${headers}/${directory} SYMBOLIC)
endforeach()
target_include_directories(wharf_torch SYSTEM INTERFACE $<BUILD_INTERFACE:${headers}>)
target_link_libraries(wharf_torch INTERFACE ${WHARF_LIBTORCH}/lib/libtorch_cpu.so ${WHARF_LIBTORCH}/lib/libc10.so)
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)  # an installed wharf-model finds them where they are
# What the wheel's libraries need lies beside them and in the wheels nvidia-*, where only they themselves look.
target_link_options(wharf_torch INTERFACE LINKER:--allow-shlib-undefined)

if(EXISTS ${WHARF_LIBTORCH}/lib/libtorch_cuda.so)
  file(GLOB places ${WHARF_LIBTORCH}/../nvidia/cu*/)
  find_path(WHARF_TORCH_CUDA_INCLUDE cuda_runtime_api.h HINTS ${places} PATH_SUFFIXES include NO_DEFAULT_PATH REQUIRED)
  file(GLOB cudart ${WHARF_LIBTORCH}/../nvidia/cu*/lib/libcudart.so.*)
  set(WHARF_TORCH_CUDA ON)
  target_include_directories(wharf_torch SYSTEM INTERFACE $<BUILD_INTERFACE:${WHARF_TORCH_CUDA_INCLUDE}>)
  # Nobody calls into libtorch_cuda: it is there to announce its operators when it is loaded.
  target_link_libraries(wharf_torch INTERFACE
    -Wl,--push-state,--no-as-needed ${WHARF_LIBTORCH}/lib/libtorch_cuda.so -Wl,--pop-state
    ${WHARF_LIBTORCH}/lib/libc10_cuda.so ${cudart})
endif()
